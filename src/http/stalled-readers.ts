import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** How long a client may read nothing of its answer. After each read the time begins anew. */
const PATIENCE_MS = 30_000;
/** The same while the server closes. */
const CLOSING_PATIENCE_MS = 5_000;

/**
 * Destroys connections of `server` whose client reads nothing: what waits for it would be held as long as the client
 * stays. A slow reader gets its whole answer. While `isAnswering` says that an answer is being made, a connection may
 * be silent. `closing` shortens the time.
 */
export function dropStalledReaders(
  server: Server,
  isAnswering: (socket: Socket) => boolean,
  { patienceMs = PATIENCE_MS, closingPatienceMs = CLOSING_PATIENCE_MS } = {},
): { closing(): void } {
  const sockets = new Set<Socket>();
  // Node emits `timeout` for a connection without traffic. Bytes that the client has read since count as traffic.
  server.timeout = patienceMs;
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  // With a listener, Node leaves idle kept-alive connections to it as well.
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
