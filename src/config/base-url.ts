import type { Config } from './config.ts';

/** Returns the URL of the gateway itself. `port` is the real port, for a configuration with port 0. */
export function baseUrlOf(config: Pick<Config, 'publicUrl' | 'host' | 'port'>, port = config.port): string {
  // A URL cannot contain the zone of an IPv6 address (fe80::1%eth0).
  const address = config.host.replace(/%.*$/, '');
  const host = address.includes(':') ? `[${address}]` : address;
  return config.publicUrl ?? `http://${host}:${port}`;
}
