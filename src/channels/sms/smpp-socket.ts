import net from 'node:net';
import tls from 'node:tls';
import type { SmppSettings } from './smpp-settings.ts';

const KEEP_ALIVE_MS = 30_000;

/** Begins to connect to an SMSC; `tlsCa` (PEM) is trusted instead of the system's certificates. */
export function openSocket({ host, port, tls: isEncrypted }: SmppSettings, tlsCa?: string): net.Socket {
  const servername = net.isIP(host) === 0 ? host : undefined;
  const socket = isEncrypted
    ? tls.connect({ host, port, servername, ca: tlsCa })
    : net.connect({ host, port });
  // Without it each small write waits for the last one's ACK: a thirtieth of the throughput.
  socket.setNoDelay(true);
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
  return socket;
}
