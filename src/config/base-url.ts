import type { Config } from './config.ts';

/** Where this gateway is reached; `port` is what it listens on, when the configuration leaves that open. */
export function baseUrlOf(config: Pick<Config, 'publicUrl' | 'host' | 'port'>, port = config.port): string {
  // A URL has no place for the zone of an address (fe80::1%eth0).
  const address = config.host.replace(/%.*$/, '');
  const host = address.includes(':') ? `[${address}]` : address;
  return config.publicUrl ?? `http://${host}:${port}`;
}
