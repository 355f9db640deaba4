import net from 'node:net';
import tls from 'node:tls';
import type { SmppSettings } from './smpp-settings.ts';

const KEEP_ALIVE_MS = 30_000;
/** Octets that may wait for a peer to read them: a whole window of submissions has less. */
const MAX_UNREAD_OCTETS = 1024 * 1024;

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

/**
 * Writes PDUs to a socket; those of one turn of the event loop leave in one system call. From a peer that sends and does
 * not read nothing more is read until it does: what it is answered would pile up.
 */
export function pduWriter(socket: net.Socket): (bytes: Buffer) => void {
  let isCorked = false;
  return (bytes) => {
    if (!socket.writable) return;
    if (!isCorked) {
      isCorked = true;
      socket.cork();
      process.nextTick(() => {
        isCorked = false;
        socket.uncork();
      });
    }
    socket.write(bytes);
    if (socket.writableLength > MAX_UNREAD_OCTETS && !socket.isPaused()) {
      socket.pause();
      socket.once('drain', () => socket.resume());
    }
  };
}
