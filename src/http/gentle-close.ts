import type { Server, ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';

/** Pause in ms between two looks for idle connections. */
const LOOK_MS = 100;

/**
 * Lets `server` close without breaking the connection of a client that is about to use it (R521). Node's own `close`
 * closes all idle connections at once: a request that was on its way then is lost with ECONNRESET, and its client cannot
 * know whether it was done.
 */
export function closeGently(server: Server) {
  const unanswered = new Set<ServerResponse>();
  let isClosing = false;
  server.prependListener('request', (_request, response) => {
    if (isClosing) return void response.setHeader('Connection', 'close');
    unanswered.add(response);
    response.once('close', () => unanswered.delete(response));
  });
  return {
    /**
     * Accepts no connections any more. Each answer from now on tells its client not to use the connection again. Closes
     * connections without a request after `graceMs`, and all connections after `timeoutMs`. Resolves when none is left.
     */
    async close(graceMs: number, timeoutMs: number): Promise<void> {
      isClosing = true;
      for (const response of unanswered) if (!response.headersSent) response.setHeader('Connection', 'close');
      const closed = new Promise((resolve) => NetServer.prototype.close.call(server, resolve));
      // A connection that stays in use is closed by its client, or becomes idle. So look repeatedly.
      let idle: NodeJS.Timeout | undefined;
      const grace = setTimeout(() => {
        idle = setInterval(() => server.closeIdleConnections(), LOOK_MS);
        server.closeIdleConnections();
      }, graceMs);
      const deadline = setTimeout(() => server.closeAllConnections(), timeoutMs);
      await closed;
      clearTimeout(grace);
      clearTimeout(deadline);
      clearInterval(idle);
      // This ends Node's own checks of the server's connections.
      server.close();
    },
  };
}
