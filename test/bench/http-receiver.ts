import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

const END_OF_HEAD = '\r\n\r\n';
const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';

export interface HttpReceiver {
  readonly url: string;
  close(): void;
}

/**
 * A webhook endpoint that answers each request with 200. It takes little CPU time, because a real endpoint runs on
 * another machine. `onBody` gets each request's raw body. A request without a Content-Length closes the connection. The
 * gateway's requests have one.
 */
export async function startHttpReceiver(onBody: (body: string) => void): Promise<HttpReceiver> {
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    let received = '';
    // latin1 gives one character for each byte, so that string lengths are byte lengths.
    socket.setEncoding('latin1');
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (text: string) => {
      received += text;
      for (let end = received.indexOf(END_OF_HEAD); end >= 0; end = received.indexOf(END_OF_HEAD)) {
        const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(received.slice(0, end + 2))?.[1];
        if (length === undefined) return void socket.destroy();
        const begin = end + END_OF_HEAD.length;
        if (received.length < begin + Number(length)) return;
        onBody(received.slice(begin, begin + Number(length)));
        received = received.slice(begin + Number(length));
        socket.write(ANSWER, 'latin1');
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
