/**
 * The command `mcp`. It passes messages of the Model Context Protocol between standard input and output and the path
 * `/mcp` of a running gateway.
 */
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { isInitializeRequest, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';

/** JSON-RPC's error code for a failure of the server. */
const SERVER_ERROR = -32_000;

/** Runs until standard input ends. A message that cannot be delivered is answered with an error. */
export async function carryMcp(url: string, apiKey: string): Promise<void> {
  const stdio: Transport = new StdioServerTransport();
  const http: Transport = new StreamableHTTPClientTransport(new URL('/mcp', url), {
    requestInit: { headers: { 'X-Api-Key': apiKey } },
  });
  const underWay = new Set<Promise<void>>();
  let initializeId: string | number | undefined;
  stdio.onmessage = (message) => {
    if (isInitializeRequest(message)) initializeId = idOf(message);
    const sent = http.send(message).catch((error: unknown) => {
      const id = idOf(message);
      if (id === undefined) return;
      const text = error instanceof Error ? error.message : String(error);
      return stdio.send({ jsonrpc: '2.0', id, error: { code: SERVER_ERROR, message: text } });
    });
    underWay.add(sent);
    void sent.finally(() => underWay.delete(sent));
  };
  http.onmessage = (message) => {
    const version = 'result' in message && idOf(message) === initializeId && message.result.protocolVersion;
    if (typeof version === 'string') http.setProtocolVersion?.(version);
    void stdio.send(message);
  };
  await http.start();
  const ended = new Promise<void>((resolve) => process.stdin.once('end', resolve));
  await stdio.start();
  await ended;
  await Promise.allSettled(underWay);
  await http.close();
}

function idOf(message: JSONRPCMessage): string | number | undefined {
  return 'id' in message ? message.id : undefined;
}
