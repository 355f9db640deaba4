import type { Config } from './config.ts';

/** The gateway's own address. `port` is the port it listens on, for when the configuration says 0. */
export function baseUrlOf(config: Pick<Config, 'publicUrl' | 'host' | 'port'>, port = config.port): string {
  // A URL cannot hold the zone of an address (fe80::1%eth0).
  const address = config.host.replace(/%.*$/, '');
  const host = address.includes(':') ? `[${address}]` : address;
  return config.publicUrl ?? `http://${host}:${port}`;
}
