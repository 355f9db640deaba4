import { createSocket } from 'node:dgram';

const TXT = 16;
const SERVER_FAILED = 2;
const NO_SUCH_NAME = 3;

export interface DnsServer extends AsyncDisposable {
  /** As `DNS_SERVERS` takes it. */
  readonly address: string;
  /** TXT records by name. */
  readonly records: Map<string, readonly string[]>;
  /** Names about which the server answers that it has failed. */
  readonly failing: Set<string>;
}

/** A name server on loopback that has TXT records (RFC 1035). */
export async function startDnsServer(): Promise<DnsServer> {
  const records = new Map<string, readonly string[]>();
  const failing = new Set<string>();
  const socket = createSocket('udp4');
  socket.on('message', (message, { address, port }) => {
    const { name, end } = nameAt(message);
    const type = message.readUInt16BE(end);
    const question = message.subarray(12, end + 4);
    const known = records.get(name.toLowerCase());
    const answers = type === TXT && !failing.has(name.toLowerCase()) ? (known ?? []).map(recordOf) : [];
    const header = Buffer.alloc(12);
    message.copy(header, 0, 0, 2);
    // A response, with recursion desired and available.
    const fault = failing.has(name.toLowerCase()) ? SERVER_FAILED : known ? 0 : NO_SUCH_NAME;
    header.writeUInt16BE(0x8180 | fault, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(answers.length, 6);
    socket.send(Buffer.concat([header, question, ...answers]), port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${socket.address().port}`,
    records,
    failing,
    [Symbol.asyncDispose]: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

/** Reads the name of the question. `end` is the place after it. */
function nameAt(message: Buffer): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.'), end: at + 1 };
}

function recordOf(text: string): Buffer {
  // A record holds strings of at most 255 bytes.
  const strings = text.match(/[\s\S]{1,255}/g) ?? [''];
  const data = Buffer.concat(
    strings.flatMap((part) => [Buffer.from([part.length]), Buffer.from(part, 'latin1')]),
  );
  const record = Buffer.alloc(12);
  // A pointer to the name of the question.
  record.writeUInt16BE(0xc00c, 0);
  record.writeUInt16BE(TXT, 2);
  record.writeUInt16BE(1, 4);
  record.writeUInt32BE(60, 6);
  record.writeUInt16BE(data.length, 10);
  return Buffer.concat([record, data]);
}
