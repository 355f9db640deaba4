import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** A connection without traffic is closed after this time, in ms. Whenever the client reads, the time starts again. */
const PATIENCE_MS = 30_000;
/** Shorter time limit in ms, while the server closes. */
const CLOSING_PATIENCE_MS = 5_000;

/**
 * Destroys connections of `server` that had no traffic for a time limit, if the client has not read all data or if
 * `isAnswering` returns false. Otherwise unread data would stay in memory as long as the client stays connected. A slow
 * reader still gets its whole answer. The returned `closing` makes the time limit shorter for the rest of the process.
 */
export function dropStalledReaders(
  server: Server,
  isAnswering: (socket: Socket) => boolean,
  { patienceMs = PATIENCE_MS, closingPatienceMs = CLOSING_PATIENCE_MS } = {},
): { closing(): void } {
  const sockets = new Set<Socket>();
  // Node emits `timeout` for a connection without traffic. Bytes that the client reads count as traffic.
  server.timeout = patienceMs;
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  // With this listener, Node no longer closes idle kept-alive connections itself. So close them here, too.
  server.on('timeout', (socket) => {
    if (socket.writableLength > 0 || !isAnswering(socket)) socket.destroy();
  });
  return {
    closing() {
      server.timeout = closingPatienceMs;
      for (const socket of sockets) socket.setTimeout(closingPatienceMs);
    },
  };
}
