/**
 * Takes mails that come back (R497): a mail server that accepts mails to return paths and to one address for complaints,
 * and no others. It never sends a mail. Anybody can connect to it, so everything that a client may use is bounded.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server';
import { DomainError } from '../../domain/errors.ts';
import type { Logger } from '../../domain/ports/logger.ts';
import type { Measurements } from '../../domain/ports/measurements.ts';
import type { MailReport, ReturnedOutcome, ReturnPaths, SentMail } from '../../domain/ports/return-paths.ts';
import { OutageLog } from '../../runtime/outage-log.ts';
import { readReport } from './report-mail.ts';

/** Largest mail, in bytes. A bounce has the head of the mail or all of it, which most mail servers then cut. */
const MAX_BYTES = 2 ** 20;
const MAX_CONNECTIONS = 50;
/** Connections of one IP address. A mail server that has more to return waits for them. */
const MAX_CONNECTIONS_PER_ADDRESS = 10;
/** Times in ms: without any data, and of a whole connection. */
const SILENCE_MS = 60_000;
const CONNECTION_MS = 300_000;
const CLOSE_MS = 5_000;
/** The local part to which mailbox providers send complaints that do not go to the return path. */
const COMPLAINTS = 'complaints';

export interface BounceListenerOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly domain: string;
  /** Certificate and key (PEM) for STARTTLS. Undefined: the listener does not offer it. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  readonly returnPaths: ReturnPaths;
  /** Applies a report. The mail server gets its answer after that. */
  readonly take: (returned: {
    readonly mail: SentMail;
    readonly report: MailReport;
  }) => Promise<ReturnedOutcome>;
  readonly measurements: Pick<Measurements, 'returned'>;
  readonly logger: Logger;
}

export interface BounceListener {
  readonly port: number;
  /** Refuses new connections, and waits for mails that are being received. */
  close(): Promise<void>;
}

/** Starts the listener. Rejects if the port is in use. The error names the variable to change. */
export async function startBounceListener(options: BounceListenerOptions): Promise<BounceListener> {
  const { host, port, domain, tls, returnPaths, measurements, logger } = options;
  const outages = new OutageLog(
    logger,
    'mails that came back cannot be recorded; mail servers try again',
    'mails that came back are recorded again',
  );

  const server = new SMTPServer({
    banner: 'takes bounces and complaints only',
    name: domain,
    ...(tls ?? { hideSTARTTLS: true }),
    disabledCommands: tls ? ['AUTH'] : ['AUTH', 'STARTTLS'],
    authOptional: true,
    disableReverseLookup: true,
    size: MAX_BYTES,
    maxClients: MAX_CONNECTIONS,
    // A bounce is about one mail and goes to one address.
    maxRecipients: 1,
    socketTimeout: SILENCE_MS,
    closeTimeout: CLOSE_MS,
    logger: false,
    onRcptTo({ address }, _session, done) {
      if (isComplaints(address, domain) || returnPaths.open(address)) return done();
      measurements.returned('refused');
      const isOurs = address.toLowerCase().endsWith(`@${domain}`);
      done(isOurs ? refusal(550, `No such address: ${shown(address)}`) : refusal(550, 'Relay access denied'));
    },
    onData(stream, session, done) {
      const [recipient] = session.envelope.rcptTo;
      receive(stream)
        .then((raw) => answer(raw, recipient?.address ?? ''))
        .then(
          (text) => done(null, text),
          (error: Error) => done(error),
        );
    },
  });

  /** Applies what the mail says. Resolves with the text of the answer. Rejects with the refusal. */
  async function answer(raw: string, recipient: string): Promise<string> {
    const report = readReport(raw);
    // In a complaint to the common address, the mail that it is about names itself.
    const mail =
      returnPaths.open(recipient) ?? (report?.kind === 'complaint' ? returnPaths.find(raw) : undefined);
    if (report === undefined || mail === undefined) {
      measurements.returned('ignored');
      return 'Ignored: no bounce and no complaint';
    }
    try {
      measurements.returned(await options.take({ mail, report }));
      outages.worked();
      return 'Recorded';
    } catch (error) {
      measurements.returned('deferred');
      // An error of the domain says that the time is not right. Any other one is a fault.
      if (!(error instanceof DomainError)) outages.failed(error);
      throw refusal(451, 'Cannot be recorded now, try again later');
    }
  }

  async function receive(stream: SMTPServerDataStream): Promise<string> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes <= MAX_BYTES) chunks.push(chunk);
    }
    if (bytes <= MAX_BYTES) return Buffer.concat(chunks).toString('utf8');
    measurements.returned('refused');
    throw refusal(552, `The mail is larger than ${MAX_BYTES} bytes`);
  }

  Object.assign(server, boundConnections(server.connections));
  // A client that breaks its connection or its TLS is no fault of the gateway.
  server.on('error', (error) => logger.debug({ err: error }, 'a connection for returned mails broke'));
  const listening = once(server.server, 'listening');
  server.listen(port, host);
  try {
    await listening;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`cannot listen on ${host}:${port}: ${why}. Set BOUNCE_PORT to a free port.`);
  }
  return {
    port: (server.server.address() as AddressInfo).port,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** Ends connections that take too long, and refuses more than a few connections of one IP address. */
function boundConnections(connections: SMTPServer['connections']) {
  const held = new Map<string, { readonly address: string; readonly timer: NodeJS.Timeout }>();
  return {
    onConnect({ id, remoteAddress: address }: SMTPServerSession, done: (error?: Error) => void) {
      const others = [...held.values()].filter((each) => each.address === address);
      if (others.length >= MAX_CONNECTIONS_PER_ADDRESS)
        return done(refusal(421, 'Too many connections of this address, try again later'));
      const timer = setTimeout(() => {
        for (const connection of connections)
          if (connection.id === id) connection.send(421, 'The connection has lasted too long');
      }, CONNECTION_MS);
      held.set(id, { address, timer });
      done();
    },
    onClose({ id }: SMTPServerSession) {
      clearTimeout(held.get(id)?.timer);
      held.delete(id);
    },
  };
}

function isComplaints(address: string, domain: string): boolean {
  return address.toLowerCase() === `${COMPLAINTS}@${domain}`;
}

function refusal(responseCode: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode });
}

/** Shortens an address that a client gave. */
function shown(address: string): string {
  return address.slice(0, 100);
}
