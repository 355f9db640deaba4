import type { Config } from './config.ts';

/** Where this gateway is reached; `port` is what it listens on, when the configuration leaves that open. */
export function baseUrlOf(config: Pick<Config, 'publicUrl' | 'host' | 'port'>, port = config.port): string {
  const host = config.host.includes(':') ? `[${config.host}]` : config.host;
  return config.publicUrl ?? `http://${host}:${port}`;
}
