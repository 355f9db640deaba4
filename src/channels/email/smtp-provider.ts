/**
 * Email over SMTP: a pool of connections, one mail to one recipient and its copies at a time.
 *
 * A mail's Message-ID is made from its message and position, so that a mail handed over twice (its answer was lost)
 * is the same mail to whoever looks at ids. Copies that were taken while `to` was put off are not sent again by this
 * process.
 */
import nodemailer from 'nodemailer';
import { parseMailbox } from '../../domain/messages/email-address.ts';
import type { Logger } from '../../domain/ports/logger.ts';
import type {
  EmailBody,
  EmailSubmission,
  Provider,
  ProviderHealth,
  SubmitOutcome,
} from '../../domain/ports/provider.ts';
import { Gate } from '../gate.ts';
import { readFailure, type SmtpError } from './smtp-outcome.ts';
import { parseSmtpUrl, type SmtpSettings } from './smtp-settings.ts';

/** All in milliseconds. */
export interface SmtpTiming {
  readonly connectTimeoutMs: number;
  /** Longest silence of the server. */
  readonly silenceTimeoutMs: number;
  /** For the whole of a mail. */
  readonly mailTimeoutMs: number;
  /** How long `stop` waits for mails on the wire. */
  readonly stopGraceMs: number;
}

export interface SmtpProviderOptions {
  /** `smtp://user:password@host:587`; all of it at `parseSmtpUrl`. */
  readonly url: string;
  readonly logger: Logger;
  /** What stands behind the @ of Message-IDs. */
  readonly messageIdDomain: string;
  readonly timing?: Partial<SmtpTiming>;
  /** Certificates (PEM) to trust instead of the system's. */
  readonly tlsCa?: string;
}

const TIMING: SmtpTiming = {
  connectTimeoutMs: 10_000,
  silenceTimeoutMs: 60_000,
  mailTimeoutMs: 180_000,
  stopGraceMs: 10_000,
};
const CONNECTIONS = 10;
/** Characters of one encoded word, which may have 75 letters: at most 40 bytes, 56 letters of base64. */
const WORD_CHARACTERS = 10;
/** Mails whose taken copies are remembered. */
const MAX_REMEMBERED = 10_000;

type Pool = ReturnType<typeof createPool>;

/**
 * Promises what `Provider` says, for email (decision 23). `unavailable`: no connection, no login, 4xx, a broken
 * connection; `rejected`: 5xx, by its three digits. Throws Error when the URL is bad.
 */
export class SmtpProvider implements Provider<EmailSubmission> {
  readonly name: string;
  readonly #options: SmtpProviderOptions;
  readonly #timing: SmtpTiming;
  readonly #logger: Logger;
  readonly #pool: Pool;
  readonly #gate = new Gate(CONNECTIONS);
  /** By mail, the copies that a server took. */
  readonly #takenCopies = new Map<string, ReadonlySet<string>>();
  #health: Pick<ProviderHealth, 'state' | 'detail'> = { state: 'starting' };
  #stopped: Promise<void> | undefined;

  constructor(options: SmtpProviderOptions) {
    const settings = parseSmtpUrl(options.url);
    const user = settings.login ? `${settings.login.user}@` : '';
    this.name = `smtp:${user}${settings.host}:${settings.port}`;
    this.#options = options;
    this.#timing = { ...TIMING, ...options.timing };
    this.#logger = options.logger.child({ provider: this.name });
    this.#pool = createPool(settings, this.#timing, options.tlsCa);
  }

  /** Connects and logs in once, to know how the server is before the first mail. */
  start(): void {
    this.#pool.verify().then(
      () => this.#noteUp(),
      (error: SmtpError) => this.#noteDown(readFailure(error, '').outcome.reason),
    );
  }

  async submit(submission: EmailSubmission, signal: AbortSignal): Promise<SubmitOutcome> {
    if (!(await this.#gate.enter(signal))) return untouched('the mail server has no connection free');
    try {
      if (new Date() < submission.expiresAt) return await this.#send(submission);
      return { ...untouched('the message expired before it could be sent'), onlyThis: true };
    } finally {
      this.#gate.leave();
    }
  }

  health(): ProviderHealth {
    const health = this.#stopped ? { state: 'down' as const, detail: 'stopped' } : this.#health;
    return { name: this.name, ...health, inFlight: this.#gate.inside };
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    await this.#gate.close(this.#timing.stopGraceMs);
    this.#pool.transporter.close?.({ force: true });
  }

  async #send(submission: EmailSubmission): Promise<SubmitOutcome> {
    const { to } = submission;
    const key = `${submission.messageId}:${submission.position}`;
    const sid = `<${submission.messageId}.${submission.position}@${this.#options.messageIdDomain}>`;
    const taken = this.#takenCopies.get(key);
    let body: EmailBody;
    try {
      body = await submission.body();
    } catch (error) {
      this.#logger.warn({ err: error, messageId: submission.messageId }, 'a mail could not be fetched');
      return { ...untouched('the mail could not be fetched'), onlyThis: true };
    }
    const copies = [...submission.cc, ...submission.bcc].filter((copy) => !taken?.has(copy));
    try {
      const info = await this.#pool.sendMail({
        ...mailOf(submission, body),
        messageId: sid,
        envelope: { from: parseMailbox(submission.from)?.address, to: [to, ...copies] },
        signal: AbortSignal.timeout(this.#timing.mailTimeoutMs),
      });
      this.#noteUp();
      const refusals: readonly SmtpError[] = info.rejectedErrors ?? [];
      const own = refusals.find((refusal) => refusal.recipient === to);
      if (own) {
        this.#rememberCopies(key, [...(taken ?? []), ...info.accepted.map(addressOf)]);
        return readFailure(own, to).outcome;
      }
      if (refusals.length > 0) {
        this.#logger.warn(
          { messageId: submission.messageId, refused: refusals.length },
          'the mail server refused copies of a mail',
        );
      }
      this.#takenCopies.delete(key);
      return { kind: 'accepted', sid };
    } catch (error) {
      const { outcome, isServerFault } = readFailure(error as SmtpError, to);
      if (isServerFault) this.#noteDown(outcome.reason);
      else this.#noteUp();
      return outcome;
    }
  }

  #noteUp(): void {
    if (this.#health.state !== 'up') this.#logger.info({}, 'the mail server answers');
    this.#health = { state: 'up' };
  }

  #noteDown(detail: string): void {
    if (this.#stopped) return;
    if (this.#health.detail !== detail)
      this.#logger.warn({ reason: detail }, 'the mail server cannot be used');
    this.#health = { state: 'down', detail };
    // Each of those who wait would meet the same.
    this.#gate.turnBack();
  }

  #rememberCopies(key: string, copies: readonly string[]): void {
    const [oldest] = this.#takenCopies.keys();
    if (oldest !== undefined && this.#takenCopies.size >= MAX_REMEMBERED) this.#takenCopies.delete(oldest);
    this.#takenCopies.set(key, new Set(copies));
  }
}

function createPool(settings: SmtpSettings, timing: SmtpTiming, ca: string | undefined) {
  return nodemailer.createTransport({
    pool: true,
    host: settings.host,
    port: settings.port,
    secure: settings.isSecure,
    requireTLS: settings.requiresTls,
    ...(settings.login ? { auth: { user: settings.login.user, pass: settings.login.password } } : {}),
    tls: { rejectUnauthorized: settings.verifiesCertificate, ...(ca === undefined ? {} : { ca }) },
    maxConnections: CONNECTIONS,
    // Only for a kept connection that the server closed before anything of the mail left.
    maxRequeues: 1,
    connectionTimeout: timing.connectTimeoutMs,
    greetingTimeout: timing.connectTimeoutMs,
    dnsTimeout: timing.connectTimeoutMs,
    socketTimeout: timing.silenceTimeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

function mailOf(submission: EmailSubmission, body: EmailBody) {
  return {
    from: mailbox(submission.from),
    to: mailbox(submission.to),
    cc: submission.cc.map(mailbox),
    ...(submission.replyTo === undefined ? {} : { replyTo: mailbox(submission.replyTo) }),
    subject: literal(submission.subject),
    ...(body.text === null ? {} : { text: body.text }),
    ...(body.html === null ? {} : { html: body.html }),
    headers: Object.entries(submission.headers).map(([key, value]) => ({ key, value: literal(value) })),
    attachments: body.attachments.map(({ filename, contentType, content }) => ({
      filename,
      contentType,
      content,
      encoding: 'base64',
      contentDisposition: 'attachment' as const,
    })),
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

/** Text that looks encoded is encoded once more, so that its reader sees what was given and nothing hides in it. */
function literal(text: string): string {
  if (!text.includes('=?')) return text;
  const words: string[] = [];
  for (let rest = Array.from(text); rest.length > 0; rest = rest.slice(WORD_CHARACTERS)) {
    const word = rest.slice(0, WORD_CHARACTERS).join('');
    words.push(`=?UTF-8?B?${Buffer.from(word).toString('base64')}?=`);
  }
  return words.join(' ');
}

/** What is already parsed must not be parsed again, by other rules. */
function mailbox(text: string): { name: string; address: string } {
  return parseMailbox(text) ?? { name: '', address: text };
}

function addressOf(recipient: string | { address?: string | undefined }): string {
  return typeof recipient === 'string' ? recipient : (recipient.address ?? '');
}

/** Not now, and the server has nothing of the mail. */
function untouched(reason: string) {
  return { kind: 'unavailable', reason, nothingLeft: true } as const;
}
