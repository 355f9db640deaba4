/**
 * The ports that a customer's URL may name at a public address. On another port, something that is not a web server
 * might read a POST as a command.
 */

const WEB_PORTS: ReadonlySet<number> = new Set([80, 443]);
const FIRST_UNPRIVILEGED = 1024;
const LAST = 65_535;

/** Ports of services that execute the commands of everyone who can reach them. */
const SERVICES: ReadonlyMap<number, string> = new Map([
  [2375, 'Docker'],
  [2376, 'Docker'],
  [2379, 'etcd'],
  [3306, 'MySQL'],
  [5432, 'PostgreSQL'],
  [6379, 'Redis'],
  [9200, 'Elasticsearch'],
  [9300, 'Elasticsearch'],
  [10250, 'the kubelet'],
  [11211, 'memcached'],
  [27017, 'MongoDB'],
]);

/** The "bad ports" of the Fetch standard from 1024 on. */
const OTHER_PROTOCOLS: ReadonlySet<number> = new Set([
  1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697,
  10080,
]);

/** Says why webhooks must not use a port of a public address. Undefined for 80, 443 and unlisted ports from 1024 on. */
export function portFault(port: number): string | undefined {
  if (WEB_PORTS.has(port)) return undefined;
  const rule = `use 80, 443 or a port from ${FIRST_UNPRIVILEGED} to ${LAST} that no other service is known for`;
  const service = SERVICES.get(port) ?? (OTHER_PROTOCOLS.has(port) ? 'another protocol' : undefined);
  if (service !== undefined) return `port ${port} belongs to ${service}; ${rule}`;
  return port < FIRST_UNPRIVILEGED ? `port ${port} is not open to webhooks; ${rule}` : undefined;
}
