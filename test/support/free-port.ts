import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * The first port of the range. It is below the ephemeral ports, so that the system does not give one of these ports to
 * another program.
 */
const FIRST = 20_000;
const COUNT = 10_000;

/** Returns a free port of 127.0.0.1, for a server whose URL must be known before it starts. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    const server = createServer().listen(port, '127.0.0.1');
    try {
      await once(server, 'listening');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') continue;
      throw error;
    }
    server.close();
    await once(server, 'close');
    return port;
  }
}
