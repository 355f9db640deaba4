/** A mail server on loopback that records what it receives. A test can make it misbehave. */
import type { AddressInfo, Socket } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { eventually } from './eventually.ts';

/**
 * `accept`: accept the mail. `silent`: never answer. `drop`: close the connection instead of answering. A number:
 * refuse with this reply code, or with a code and a text.
 */
export type MailAnswer =
  | 'accept'
  | 'silent'
  | 'drop'
  | number
  | { readonly code: number; readonly text: string };

export interface MailServerBehaviour {
  readonly rcpt: (to: string, count: number) => MailAnswer;
  readonly mailFrom: MailAnswer;
  readonly data: MailAnswer;
  /** The only login that the server accepts. If undefined, the server needs no login. */
  readonly login: { readonly user: string; readonly password: string } | undefined;
  /** True to close every connection at once. */
  readonly isGone: boolean;
}

export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly raw: string;
  readonly isEncrypted: boolean;
  readonly user: string | undefined;
  /** The name that the client gave in EHLO. */
  readonly greeting: string;
  /** All header fields in their order. Folded lines are joined, and RFC 2047 encoded words are decoded. */
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  /** Returns the value of a header. Undefined if it is missing. Throws if it appears twice. */
  header(name: string): string | undefined;
}

const DEFAULTS: MailServerBehaviour = {
  rcpt: () => 'accept',
  mailFrom: 'accept',
  data: 'accept',
  login: undefined,
  isGone: false,
};

export type MailServer = Awaited<ReturnType<typeof startMailServer>>;

/**
 * Starts the server on a free port of 127.0.0.1. Without `tls` it does not offer STARTTLS. `options` are passed to the
 * SMTP library and override the other settings.
 */
export async function startMailServer(
  behaviour: Partial<MailServerBehaviour> = {},
  { tls, options = {} }: { tls?: { key: string; cert: string }; options?: SMTPServerOptions } = {},
) {
  let now: MailServerBehaviour = { ...DEFAULTS, ...behaviour };
  const received: ReceivedMail[] = [];
  const recipients: string[] = [];
  const sockets = new Set<Socket>();
  let begun = 0;
  const answer = (what: MailAnswer, done: (error?: Error) => void) => {
    if (what === 'silent') return;
    if (what === 'drop') {
      for (const socket of [...sockets]) socket.destroy();
      return;
    }
    if (what === 'accept') return done();
    const { code, text } = typeof what === 'object' ? what : { code: what, text: 'as told' };
    done(Object.assign(new Error(text), { responseCode: code }));
  };
  const server = new SMTPServer({
    authOptional: true,
    ...(tls ? { ...tls } : { hideSTARTTLS: true, disabledCommands: ['STARTTLS'] }),
    allowInsecureAuth: true,
    closeTimeout: 100,
    disableReverseLookup: true,
    onAuth: ({ username, password }, _session, done) => {
      const isKnown =
        now.login === undefined || (username === now.login.user && password === now.login.password);
      if (isKnown) done(null, { user: username });
      else done(Object.assign(new Error('no such login'), { responseCode: 535 }));
    },
    onMailFrom: (_address, _session, done) => answer(now.mailFrom, done),
    onRcptTo: ({ address }, _session, done) => {
      recipients.push(address);
      answer(now.rcpt(address, recipients.filter((each) => each === address).length), done);
    },
    onData: (stream, session, done) => {
      begun += 1;
      const told = now.data;
      if (told === 'drop') stream.once('data', () => answer('drop', done));
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        if (told !== 'accept') return answer(told, done);
        const { mailFrom, rcptTo } = session.envelope;
        received.push(
          toMail(Buffer.concat(chunks).toString('utf8'), {
            from: mailFrom ? mailFrom.address : '',
            to: rcptTo.map(({ address }) => address),
            isEncrypted: session.secure === true,
            user: session.user as string | undefined,
            greeting: session.hostNameAppearsAs,
          }),
        );
        done();
      });
    },
    ...options,
  });
  // Ignore connection errors: tests cut connections on purpose.
  server.on('error', () => undefined);
  server.server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    if (now.isGone) socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.server.address() as AddressInfo;
  return {
    port,
    url: `smtp://127.0.0.1:${port}`,
    received,
    /** The email addresses of all RCPT commands, in order. */
    recipients,
    /** Number of mails of which the server received the beginning, whether it accepted them or not. */
    begun: () => begun,
    connections: () => sockets.size,
    cutAll() {
      for (const socket of sockets) socket.destroy();
    },
    behave(changes: Partial<MailServerBehaviour>) {
      now = { ...now, ...changes };
    },
    waitFor: (fits: (mail: ReceivedMail) => boolean) => eventually(() => received.find(fits)),
    stop: () =>
      new Promise<void>((resolve) => {
        // Destroy the plain sockets only without TLS. Node crashes if the socket below a TLS session is destroyed
        // first.
        if (!tls) for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

/** Returns the text of an ASCII mail, without soft line breaks. */
export function textOfMail({ raw }: ReceivedMail): string {
  return raw.slice(raw.indexOf('\r\n\r\n')).replace(/=\r\n/g, '').replaceAll('=3D', '=');
}

function toMail(
  raw: string,
  envelope: Pick<ReceivedMail, 'from' | 'to' | 'isEncrypted' | 'user' | 'greeting'>,
): ReceivedMail {
  const head = raw.slice(0, raw.indexOf('\r\n\r\n'));
  const headers = head
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n')
    .map((line) => {
      const colon = line.indexOf(':');
      return { name: line.slice(0, colon), value: decodeWords(line.slice(colon + 1).trim()) };
    });
  return {
    ...envelope,
    raw,
    headers,
    header(name) {
      const found = headers.filter((header) => header.name.toLowerCase() === name.toLowerCase());
      if (found.length > 1) throw new Error(`${name} stands ${found.length} times`);
      return found[0]?.value;
    },
  };
}

/** Decodes RFC 2047 encoded words in UTF-8. */
function decodeWords(value: string): string {
  return value
    .replace(/\?=\s+=\?/g, '?==?')
    .replace(/=\?utf-8\?([qb])\?([^?]*)\?=/gi, (_word, kind: string, text: string) =>
      kind.toLowerCase() === 'b'
        ? Buffer.from(text, 'base64').toString('latin1')
        : text
            .replaceAll('_', ' ')
            .replace(/=([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))),
    )
    .replace(/[\x80-\xff]+/g, (bytes) => Buffer.from(bytes, 'latin1').toString('utf8'));
}
