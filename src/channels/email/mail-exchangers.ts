import { promises as dns } from 'node:dns';

const ABSENT: readonly string[] = ['ENOTFOUND', 'ENODATA'];

/**
 * Returns the hosts to which mails to a domain go (MX records), the preferred one first. Asks `servers`, or the name
 * servers of the system. Empty if there are none. Throws if no name server answers.
 */
export async function findMailExchangers(
  domain: string,
  servers: readonly string[],
): Promise<readonly string[]> {
  const resolver = new dns.Resolver({ timeout: 2_000, tries: 2 });
  if (servers.length > 0) resolver.setServers(servers);
  try {
    const found = await resolver.resolveMx(domain);
    return found.toSorted((one, two) => one.priority - two.priority).map(({ exchange }) => exchange);
  } catch (error) {
    const { code = 'UNKNOWN' } = error as NodeJS.ErrnoException;
    if (ABSENT.includes(code)) return [];
    throw new Error(`no name server answers about ${domain} (${code})`, { cause: error });
  }
}
