import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** How long a client may take nothing of what it is sent, in ms; an answer of which it has taken some, as long again. */
const PATIENCE_MS = 30_000;
/** The same while the server closes, which has to be over in time. */
const CLOSING_PATIENCE_MS = 5_000;

/**
 * Destroys the connections of `server` whose client takes nothing of what waits for it: that would be held for as long as
 * the client stays. Who reads slowly gets the whole answer, and an answer may be long in the making: `isAnswering` says
 * whether one is. `closing` begins to lose patience, as a server must that closes.
 */
export function dropStalledReaders(
  server: Server,
  isAnswering: (socket: Socket) => boolean,
  { patienceMs = PATIENCE_MS, closingPatienceMs = CLOSING_PATIENCE_MS } = {},
): { closing(): void } {
  const sockets = new Set<Socket>();
  // Of a connection on which nothing moves for so long Node tells; bytes that the client has taken since are a movement.
  server.timeout = patienceMs;
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  // Node leaves to who listens the connections, too, on which nothing was asked for as long as it keeps them alive.
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
