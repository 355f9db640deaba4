import { promises as dns } from 'node:dns';
import { DomainError } from '../../domain/errors.ts';
import type { TxtRecords } from '../../domain/ports/single-sign-on.ts';

const ABSENT: readonly string[] = ['ENOTFOUND', 'ENODATA'];

/**
 * Creates a reader of TXT records over sockets. It asks `servers`, such as `192.0.2.53:5353`, or the name servers of
 * the system.
 */
export function createTxtRecords(servers: readonly string[]): TxtRecords {
  const resolver = new dns.Resolver({ timeout: 2_000, tries: 2 });
  if (servers.length > 0) resolver.setServers(servers);
  return {
    async find(name) {
      try {
        return (await resolver.resolveTxt(name)).map((parts) => parts.join(''));
      } catch (error) {
        const { code = 'UNKNOWN' } = error as NodeJS.ErrnoException;
        if (ABSENT.includes(code)) return [];
        throw new DomainError(
          'provider_error',
          `No name server answers about ${name} (${code}). Try again later.`,
        );
      }
    },
  };
}
