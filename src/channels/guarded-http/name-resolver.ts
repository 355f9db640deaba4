/** Resolves the host names in customers' URLs. A slow or hostile name server must not delay anything else. */
import { promises as dns, type LookupAddress } from 'node:dns';
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import { Semaphore } from '../../runtime/semaphore.ts';

/**
 * Returns all IP addresses of a name, IPv4 and IPv6. The list may be empty. Rejects with an error of Node's dns module
 * (`ENOTFOUND`, …).
 */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

const HOSTS_FILE = process.platform === 'win32' ? 'C:\\Windows\\System32\\drivers\\etc\\hosts' : '/etc/hosts';

/**
 * Number of libuv's four threads that may wait in getaddrinfo at the same time. Files and password hashes need the
 * others.
 */
const MAX_SYSTEM_LOOKUPS = 2;

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code ?? '');
const isAbsent = (code: string): boolean => code === 'ENOTFOUND' || code === 'ENODATA';

/**
 * Creates a resolver that reads the hosts file and then asks DNS over sockets (c-ares), without threads. The system's
 * `getaddrinfo` cannot be cancelled and occupies one of the process's four threads. So four names with silent name
 * servers would stop every delivery and login. It is used in three cases only:
 * - The name has no dot.
 * - DNS does not know the name, and `privateNames` is set. Search domains and mDNS may know it, and lead to private
 *   addresses.
 * - No name server can be reached.
 *
 * At most two such lookups run at the same time.
 */
export function createSystemResolver({ privateNames }: { privateNames: boolean }): Resolve {
  const resolver = new dns.Resolver({ timeout: 2_000, tries: 2 });
  const hosts = createHostsFile(HOSTS_FILE);
  const viaSystem = createSystemLookup();
  return async (hostname) => {
    const fixed = hosts(hostname);
    if (fixed !== undefined) return fixed;
    // RFC 6761: names of localhost are never sent to a name server.
    if (hostname === 'localhost' || hostname.endsWith('.localhost')) return ['127.0.0.1', '::1'];
    if (!hostname.includes('.')) return viaSystem(hostname);

    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (found.length > 0) return found;
    const failures = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []));
    const trouble = failures.find((failure) => !isAbsent(codeOf(failure)));
    const ask = trouble === undefined ? privateNames : codeOf(trouble) === 'ECONNREFUSED';
    if (ask) return viaSystem(hostname);
    throw trouble ?? failures[0] ?? Object.assign(new Error('no address'), { code: 'ENODATA' });
  };
}

function createSystemLookup(): Resolve {
  const threads = new Semaphore(MAX_SYSTEM_LOOKUPS);
  return async (hostname) => {
    const found: LookupAddress[] = await threads.run(() =>
      dns.lookup(hostname, { all: true, order: 'verbatim' }),
    );
    return found.map(({ address }) => address);
  };
}

function createHostsFile(path: string): (hostname: string) => readonly string[] | undefined {
  let readAt = '';
  let names = new Map<string, string[]>();
  return (hostname) => {
    try {
      const { mtimeMs, size } = statSync(path);
      const version = `${mtimeMs}:${size}`;
      if (version !== readAt) {
        names = parseHosts(readFileSync(path, 'utf8'));
        readAt = version;
      }
    } catch {
      // A hosts file that cannot be read counts as empty.
      names.clear();
    }
    return names.get(hostname.toLowerCase());
  };
}

function parseHosts(text: string): Map<string, string[]> {
  const names = new Map<string, string[]>();
  for (const line of text.split(/\r?\n/)) {
    const [address = '', ...aliases] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (isIP(address) === 0) continue;
    for (const alias of aliases) {
      const name = alias.toLowerCase();
      names.set(name, [...(names.get(name) ?? []), address]);
    }
  }
  return names;
}

const PACE_WINDOW_MS = 1_000;
const LOOKUPS_PER_WINDOW = 20;
const MAX_PACED_NAMES = 1_000;

interface NameState {
  windowStart: number;
  lookups: number;
  pending: boolean;
  last: Promise<readonly string[]>;
}

/**
 * Limits the lookups of one name. R161 requires a fresh resolution for every attempt. So each attempt starts a lookup
 * or joins one that is running. Only above 20 lookups a second, attempts share an answer that is at most 1 s old. The
 * reason: the name servers of clouds drop packets above 1,024 a second from one machine. Sharing is safe, because the
 * client connects only to addresses that it has judged itself. An old answer leads to an old public address at worst.
 */
export function createPacedLookup(resolve: Resolve, now: () => number = () => performance.now()): Resolve {
  const names = new LRUCache<string, NameState>({ max: MAX_PACED_NAMES });
  return (hostname) => {
    const at = now();
    const known = names.get(hostname);
    if (known?.pending) return known.last;
    const inWindow = known !== undefined && at - known.windowStart < PACE_WINDOW_MS;
    if (inWindow && known.lookups >= LOOKUPS_PER_WINDOW) return known.last;

    const state: NameState = {
      windowStart: inWindow ? known.windowStart : at,
      lookups: (inWindow ? known.lookups : 0) + 1,
      pending: true,
      last: Promise.resolve().then(() => resolve(hostname)),
    };
    const settled = () => {
      state.pending = false;
    };
    state.last.then(settled, settled);
    names.set(hostname, state);
    return state.last;
  };
}
