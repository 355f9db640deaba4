import net from 'node:net';
import tls from 'node:tls';
import type { SmppSettings } from './smpp-settings.ts';

const KEEP_ALIVE_MS = 30_000;
/** Number of octets that may wait because the peer does not read. A whole window of submissions is smaller. */
const MAX_UNREAD_OCTETS = 1024 * 1024;

/** Starts connecting to an SMSC. `tlsCa` (PEM) is trusted instead of the system's certificates. */
export function openSocket({ host, port, tls: isEncrypted }: SmppSettings, tlsCa?: string): net.Socket {
  const servername = net.isIP(host) === 0 ? host : undefined;
  const socket = isEncrypted
    ? tls.connect({ host, port, servername, ca: tlsCa })
    : net.connect({ host, port });
  // Without this, each small write waits for the previous ACK. That costs 97 % of the throughput.
  socket.setNoDelay(true);
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
  return socket;
}

/**
 * Returns a function that writes PDUs to a socket. PDUs of one turn of the event loop are sent in one system call. If
 * the peer does not read, the gateway stops reading from it. Otherwise its own answers to the peer's requests would
 * pile up.
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
