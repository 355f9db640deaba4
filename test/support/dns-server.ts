import { createSocket } from 'node:dgram';

const TXT = 16;
const MX = 15;
const SERVER_FAILED = 2;
const NO_SUCH_NAME = 3;

export interface DnsServer extends AsyncDisposable {
  /** As `DNS_SERVERS` takes it. */
  readonly address: string;
  /** TXT records by name. */
  readonly records: Map<string, readonly string[]>;
  /** Mail exchangers by domain. A domain that has some needs no TXT records. */
  readonly exchangers: Map<string, readonly string[]>;
  /** Names about which the server answers that it has failed. */
  readonly failing: Set<string>;
}

/** A name server on loopback that has TXT and MX records (RFC 1035). */
export async function startDnsServer(): Promise<DnsServer> {
  const records = new Map<string, readonly string[]>();
  const exchangers = new Map<string, readonly string[]>();
  const failing = new Set<string>();
  const socket = createSocket('udp4');
  socket.on('message', (message, { address, port }) => {
    const { name, end } = nameAt(message);
    const type = message.readUInt16BE(end);
    const question = message.subarray(12, end + 4);
    const texts = records.get(name.toLowerCase());
    const mail = exchangers.get(name.toLowerCase());
    const known = texts ?? mail;
    const all =
      type === TXT ? (texts ?? []).map(textRecord) : type === MX ? (mail ?? []).map(exchangerRecord) : [];
    const answers = failing.has(name.toLowerCase()) ? [] : all;
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
    exchangers,
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

function textRecord(text: string): Buffer {
  // A record holds strings of at most 255 bytes.
  const strings = text.match(/[\s\S]{1,255}/g) ?? [''];
  const data = Buffer.concat(
    strings.flatMap((part) => [Buffer.from([part.length]), Buffer.from(part, 'latin1')]),
  );
  return recordOf(TXT, data);
}

function exchangerRecord(host: string): Buffer {
  const preference = Buffer.from([0, 10]);
  const labels = host.split('.').flatMap((label) => [Buffer.from([label.length]), Buffer.from(label)]);
  return recordOf(MX, Buffer.concat([preference, ...labels, Buffer.from([0])]));
}

function recordOf(type: number, data: Buffer): Buffer {
  const record = Buffer.alloc(12);
  // A pointer to the name of the question.
  record.writeUInt16BE(0xc00c, 0);
  record.writeUInt16BE(type, 2);
  record.writeUInt16BE(1, 4);
  record.writeUInt32BE(60, 6);
  record.writeUInt16BE(data.length, 10);
  return Buffer.concat([record, data]);
}
