import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below those that systems give to outgoing connections and to who listens on any port: nobody takes it meanwhile. */
const FIRST = 20_000;
const COUNT = 10_000;

/** A port of 127.0.0.1 that nobody listens on, for what must know its address before it starts. */
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
