/**
 * Sends email over SMTP through a pool of connections. Each SMTP transaction carries one mail to one recipient and its
 * copies. With return paths (R497), the copies have a second transaction.
 *
 * The Message-ID is made from message id and position. So a mail that is sent again because the answer was lost has the
 * same id. **Copies** (cc, bcc) are sent in the same transaction. If a server accepts copies but defers `to`, this
 * process does not send those copies again. Deferred copies wait in memory and are retried after the same delays as
 * other mails. Copies of marketing are mails of their own, because each has its own opt-out link. They leave after the
 * outcome of `to` is returned: if the process ends meanwhile, the job does not send again what was sent.
 */
import nodemailer from 'nodemailer';
import { parseMailbox } from '../../domain/messages/email-address.ts';
import { retryDelayMs } from '../../domain/messages/submit-retries.ts';
import type { Logger } from '../../domain/ports/logger.ts';
import type {
  EmailBody,
  EmailSubmission,
  Provider,
  ProviderHealth,
  ProviderOutcome,
} from '../../domain/ports/provider.ts';
import { Semaphore } from '../../runtime/semaphore.ts';
import { MAY_NOT_LEAVE } from '../may-leave.ts';
import { AcceptedCopies } from './accepted-copies.ts';
import type { DkimSigning } from './dkim.ts';
import { type Mail, mailOf } from './smtp-mail.ts';
import { type ReadFailure, readFailure, type SmtpError } from './smtp-outcome.ts';
import { parseSmtpUrl, type SmtpSettings } from './smtp-settings.ts';

/** Timeouts in ms. */
export interface SmtpTiming {
  readonly connectTimeoutMs: number;
  /** The longest time without any data from the server. */
  readonly silenceTimeoutMs: number;
  /** The limit for a whole SMTP transaction. */
  readonly mailTimeoutMs: number;
  /** How long `stop` waits for mails in flight. */
  readonly stopGraceMs: number;
}

export interface SmtpProviderOptions {
  /** `smtp://user:password@host:587`. See `parseSmtpUrl`. */
  readonly url: string;
  readonly logger: Logger;
  /** The domain of the Message-IDs: the part after the @. */
  readonly messageIdDomain: string;
  readonly timing?: Partial<SmtpTiming>;
  /** Certificates (PEM) to trust instead of the system's. */
  readonly tlsCa?: string;
  /** How to sign mails. Undefined: they are not signed. */
  readonly dkim?: DkimSigning | undefined;
  /** Accepted copies, shared by all servers that fail over to each other. */
  readonly acceptedCopies?: AcceptedCopies;
  /** The clock for deadlines. Default: the clock of the process. */
  readonly now?: (() => Date) | undefined;
}

const TIMING: SmtpTiming = {
  connectTimeoutMs: 10_000,
  silenceTimeoutMs: 60_000,
  mailTimeoutMs: 180_000,
  stopGraceMs: 10_000,
};
const CONNECTIONS = 10;
/** Number of mails whose deferred copies may wait in memory. */
const MAX_WAITING = 10_000;

const GIVEN_UP = 'gave up deferred copies of a mail';

type Failure = ReadFailure['outcome'];
type Pool = ReturnType<typeof createPool>;

/**
 * Implements `Provider` for email (R23). The outcome is `unavailable` if there is no connection, no login, a 4xx answer
 * or a broken connection. It is `rejected` with the three digits as code after a 5xx answer. Throws an Error if the URL
 * is invalid.
 */
export class SmtpProvider implements Provider<EmailSubmission> {
  readonly name: string;
  readonly #options: SmtpProviderOptions;
  readonly #now: () => Date;
  readonly #timing: SmtpTiming;
  readonly #logger: Logger;
  readonly #pool: Pool;
  readonly #connections = new Semaphore(CONNECTIONS);
  /** The timers for deferred copies, one timer for each mail. */
  readonly #waiting = new Map<NodeJS.Timeout, { readonly messageId: string; readonly copies: number }>();
  readonly #acceptedCopies: AcceptedCopies;
  #health: Pick<ProviderHealth, 'state' | 'detail'> = { state: 'starting' };
  /** Time of the server's last answer (performance.now, ms). */
  #upAt = 0;
  #stopped: Promise<void> | undefined;

  constructor(options: SmtpProviderOptions) {
    const settings = parseSmtpUrl(options.url);
    const user = settings.login ? `${settings.login.user}@` : '';
    this.name = `smtp:${user}${settings.host}:${settings.port}`;
    this.#options = options;
    this.#now = options.now ?? (() => new Date());
    this.#timing = { ...TIMING, ...options.timing };
    this.#acceptedCopies = options.acceptedCopies ?? new AcceptedCopies();
    this.#logger = options.logger.child({ provider: this.name });
    this.#pool = createPool(settings, this.#timing, options);
  }

  /** Connects and logs in once, so that the health is known before the first mail. */
  start(): void {
    this.#pool.verify().then(
      () => this.#noteUp(),
      (error: SmtpError) => this.#noteDown(readFailure(error, '').outcome.reason),
    );
  }

  async submit(submission: EmailSubmission, signal: AbortSignal): Promise<ProviderOutcome> {
    if (!(await this.#connections.acquire(signal))) return unasked('the mail server has no connection free');
    try {
      if (this.#now() < submission.expiresAt) return await this.#send(submission, signal);
      return unasked('the message expired before it could be sent');
    } finally {
      this.#connections.release();
    }
  }

  health(): ProviderHealth {
    const health = this.#stopped ? { state: 'down' as const, detail: 'stopped' } : this.#health;
    return { name: this.name, ...health, inFlight: this.#connections.held };
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    for (const [timer, fields] of this.#waiting) {
      clearTimeout(timer);
      this.#logger.warn(fields, GIVEN_UP);
    }
    this.#waiting.clear();
    await this.#connections.close(this.#timing.stopGraceMs);
    this.#pool.transporter.close?.({ force: true });
  }

  async #send(submission: EmailSubmission, signal: AbortSignal): Promise<ProviderOutcome> {
    const { to } = submission;
    const taken = this.#acceptedCopies.of(this.#sidOf(submission));
    const untaken = [...submission.cc, ...submission.bcc].filter((copy) => !taken.has(copy));
    const allowed = await stillAllowed(submission, [to, ...untaken]);
    if (!allowed?.includes(to)) return unasked(MAY_NOT_LEAVE);
    const copies = untaken.filter((copy) => allowed.includes(copy));
    return this.#sendTo(namingOnly(submission, untaken, copies), copies, signal);
  }

  /** Sends the mail to `to` and to these copies. */
  async #sendTo(
    submission: EmailSubmission,
    copies: readonly string[],
    signal: AbortSignal,
  ): Promise<ProviderOutcome> {
    const { to, copiesTo } = submission;
    const mail = await this.#compose(submission);
    if ('kind' in mail) return mail;
    // The body may have taken a while to load. Nothing has left yet.
    if (signal.aborted) return unasked('the time to send the mail was over before it could be sent');
    if (copiesTo) {
      const failure = (await this.#transmit(mail, submission, [to])).get(to);
      if (failure?.kind !== 'unavailable' && copies.length > 0) void this.#sendCopies(submission, copies, 0);
      return failure ?? { kind: 'accepted', sid: mail.messageId };
    }
    const failures = await this.#transmit(mail, submission, [to, ...copies]);
    const outcome = failures.get(to);
    if (outcome?.kind === 'unavailable') {
      this.#acceptedCopies.add(
        mail.messageId,
        copies.filter((copy) => !failures.has(copy)),
      );
      if (this.#acceptedCopies.of(mail.messageId).size === 0) return outcome;
      // Some copies of the mail were sent. So `definitelyNotSent` must not be set.
      const { definitelyNotSent: _, ...unsure } = outcome;
      return unsure;
    }
    this.#acceptedCopies.forget(mail.messageId);
    this.#settleCopies(submission, copies, failures, 0);
    return outcome ?? { kind: 'accepted', sid: mail.messageId };
  }

  /** Returns the Message-ID of the mail. */
  #sidOf({ messageId, position }: EmailSubmission): string {
    return `<${messageId}.${position}@${this.#options.messageIdDomain}>`;
  }

  /** Returns the mail to send. If it cannot be created, returns the outcome. */
  async #compose(submission: EmailSubmission): Promise<Mail | Failure> {
    const { messageId } = submission;
    let body: EmailBody;
    try {
      body = await submission.body();
    } catch (error) {
      this.#logger.warn({ err: error, messageId }, 'a mail could not be fetched');
      return unasked('the mail could not be fetched');
    }
    try {
      return mailOf(submission, body, this.#sidOf(submission));
    } catch (error) {
      this.#logger.error({ err: error, messageId }, 'a mail could not be written');
      const why = error instanceof Error ? error.message : String(error);
      return {
        kind: 'rejected',
        asked: false,
        code: 'invalid_mail',
        reason: `the mail cannot be written: ${why}`,
      };
    }
  }

  /** Sends copies without the mail to `to`: in one transaction, or, with `copiesTo`, each in its own. Never rejects. */
  async #transmitCopies(
    submission: EmailSubmission,
    copies: readonly string[],
  ): Promise<ReadonlyMap<string, Failure>> {
    const { copiesTo, expiresAt } = submission;
    if (!copiesTo) return this.#composeAndTransmit(submission, copies);
    const failures = new Map<string, Failure>();
    let away: Failure | undefined;
    for (const [copy, mail] of copiesTo(copies)) {
      const own = { ...mail, cc: submission.cc };
      // The server may be away. The other copies wait too, instead of a timeout for each.
      if (!away && this.#now() >= expiresAt) away = unasked('the message expired before it could be sent');
      const failure = away ?? (await this.#composeAndTransmit(own, [copy])).get(copy);
      if (!failure) continue;
      failures.set(copy, failure);
      if (mayBeAway(failure)) away = failure;
    }
    return failures;
  }

  /** Loads and sends a mail. Resolves with the recipients that were not accepted, and why. Never rejects. */
  async #composeAndTransmit(
    submission: EmailSubmission,
    recipients: readonly string[],
  ): Promise<ReadonlyMap<string, Failure>> {
    const mail = await this.#compose(submission);
    if ('kind' in mail) return new Map(recipients.map((each) => [each, mail]));
    return this.#transmit(mail, submission, recipients);
  }

  /**
   * Sends the mail. Resolves with the recipients that were not accepted, and why. Never rejects. With return paths the
   * copies have a transaction of their own. Otherwise people who get a copy would see the return path of `to`, and could
   * let it bounce.
   */
  async #transmit(
    mail: Mail,
    submission: EmailSubmission,
    recipients: readonly string[],
  ): Promise<ReadonlyMap<string, Failure>> {
    const { to, from, returnPaths } = submission;
    if (returnPaths === undefined) {
      return this.#transact(mail, submission, recipients, parseMailbox(from)?.address);
    }
    const parts = [
      { own: recipients.filter((each) => each === to), returnPath: returnPaths.to },
      { own: recipients.filter((each) => each !== to), returnPath: returnPaths.copies },
    ].filter(({ own }) => own.length > 0);
    const failures = await Promise.all(
      parts.map(({ own, returnPath }) =>
        this.#transact(withFeedbackAddress(mail, returnPath), submission, own, returnPath),
      ),
    );
    return new Map(failures.flatMap((failed) => [...failed]));
  }

  /** Sends the mail in one transaction with this envelope sender. */
  async #transact(
    mail: Mail,
    { messageId, dkimDomain }: EmailSubmission,
    recipients: readonly string[],
    sender: string | undefined,
  ): Promise<ReadonlyMap<string, Failure>> {
    const begunAt = performance.now();
    try {
      const info = await this.#pool.sendMail({
        ...mail,
        ...(dkimDomain === undefined ? {} : signatureOf(this.#options.dkim, dkimDomain)),
        envelope: { from: sender, to: [...recipients] },
        signal: AbortSignal.timeout(this.#timing.mailTimeoutMs),
      });
      this.#noteUp();
      const refusals: readonly SmtpError[] = info.rejectedErrors ?? [];
      return new Map(refusals.map((error) => [error.recipient ?? '', readFailure(error, '').outcome]));
    } catch (error) {
      // If the server has answered another mail since this mail began, the server works. Then this failure must not
      // stop other mails.
      const isWorking = this.#upAt > begunAt;
      const failures = recipients.map((to): [string, ReadFailure] => [
        to,
        readFailure(error as SmtpError, to),
      ]);
      for (const [, { outcome, fault }] of failures) {
        if (fault === 'server' && !isWorking) this.#noteDown(outcome.reason);
        if (fault === 'mail') this.#noteUp();
      }
      if (failures.some(([, { fault }]) => fault === 'program'))
        this.#logger.error({ err: error, messageId }, 'a mail could not be sent');
      return new Map(
        failures.map(([to, { outcome }]) => [
          to,
          isWorking && outcome.kind === 'unavailable' ? { ...outcome, onlyThis: true } : outcome,
        ]),
      );
    }
  }

  /** Retries deferred copies and logs refused copies. `attempt` counts from 0. */
  #settleCopies(
    submission: EmailSubmission,
    copies: readonly string[],
    failures: ReadonlyMap<string, Failure>,
    attempt: number,
  ): void {
    const { messageId } = submission;
    const putOff = copies.filter((copy) => failures.get(copy)?.kind === 'unavailable');
    const refused = copies.filter((copy) => failures.get(copy)?.kind === 'rejected').length;
    if (refused > 0) this.#logger.warn({ messageId, refused }, 'the mail server refused copies of a mail');
    if (putOff.length > 0) this.#retryLater(submission, putOff, attempt);
  }

  #retryLater(submission: EmailSubmission, copies: readonly string[], attempt: number): void {
    const delayMs = retryDelayMs('email', attempt);
    const isLate = this.#now().getTime() + delayMs >= submission.expiresAt.getTime();
    const fields = { messageId: submission.messageId, copies: copies.length };
    if (isLate || this.#stopped || this.#waiting.size >= MAX_WAITING) {
      this.#logger.warn(fields, GIVEN_UP);
      return;
    }
    const timer = setTimeout(() => {
      this.#waiting.delete(timer);
      void this.#sendCopies(submission, copies, attempt + 1);
    }, delayMs);
    this.#waiting.set(timer, fields);
  }

  async #sendCopies(submission: EmailSubmission, copies: readonly string[], attempt: number): Promise<void> {
    if (!(await this.#connections.acquire())) return this.#retryLater(submission, copies, attempt);
    try {
      // They have waited: for the outcome of the mail, for a connection, or since a server deferred them.
      const allowed = await stillAllowed(submission, copies);
      if (!allowed) return this.#retryLater(submission, copies, attempt);
      if (allowed.length === 0) return;
      const kept = namingOnly(submission, copies, allowed);
      this.#settleCopies(kept, allowed, await this.#transmitCopies(kept, allowed), attempt);
    } finally {
      this.#connections.release();
    }
  }

  #noteUp(): void {
    this.#upAt = performance.now();
    if (this.#health.state !== 'up') this.#logger.info({}, 'the mail server answers');
    this.#health = { state: 'up' };
  }

  #noteDown(detail: string): void {
    if (this.#stopped) return;
    if (this.#health.detail !== detail)
      this.#logger.warn({ reason: detail }, 'the mail server cannot be used');
    this.#health = { state: 'down', detail };
    // Mails that wait for a connection would fail in the same way. So let them fail now, before their timeout.
    this.#connections.rejectWaiters();
  }
}

function createPool(settings: SmtpSettings, timing: SmtpTiming, options: SmtpProviderOptions) {
  const ca = options.tlsCa ?? settings.ca;
  return nodemailer.createTransport({
    pool: true,
    host: settings.host,
    port: settings.port,
    secure: settings.isSecure,
    requireTLS: settings.requiresTls,
    ...(settings.login ? { auth: { user: settings.login.user, pass: settings.login.password } } : {}),
    tls: { rejectUnauthorized: settings.verifiesCertificate, ...(ca === undefined ? {} : { ca }) },
    ...(settings.greeting === undefined ? {} : { name: settings.greeting }),
    ...signatureOf(options.dkim, options.dkim?.domainName),
    maxConnections: CONNECTIONS,
    // nodemailer retries a mail once if the server had closed the kept connection. In that case it had sent no byte of
    // the mail.
    maxRequeues: 1,
    connectionTimeout: timing.connectTimeoutMs,
    greetingTimeout: timing.connectTimeoutMs,
    dnsTimeout: timing.connectTimeoutMs,
    socketTimeout: timing.silenceTimeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

/** Returns the outcome of a mail about which no server was asked. It may be retried later. */
function unasked(reason: string) {
  return { kind: 'unavailable', asked: false, reason, definitelyNotSent: true, onlyThis: true } as const;
}

/** Returns the people who may still get the mail (R557). Undefined if nobody can know now. */
async function stillAllowed(
  { stillAllowed: ask }: EmailSubmission,
  addresses: readonly string[],
): Promise<readonly string[] | undefined> {
  return ask ? ask(addresses) : addresses;
}

/** Returns the mail whose header names only those of `copies` that still get it. The people of a mail see each other. */
function namingOnly(
  submission: EmailSubmission,
  copies: readonly string[],
  allowed: readonly string[],
): EmailSubmission {
  return {
    ...submission,
    cc: submission.cc.filter((copy) => !copies.includes(copy) || allowed.includes(copy)),
  };
}

/** True unless the server answered that it defers this mail only. */
function mayBeAway(failure: Failure): boolean {
  return failure.kind === 'unavailable' && !(failure.onlyThis && failure.definitelyNotSent);
}

/** Asks mailbox providers to send complaints about the mail to its return path (RFC 9477). */
function withFeedbackAddress(mail: Mail, returnPath: string): Mail {
  const headers = mail.headers.filter(({ key }) => key.toLowerCase() !== 'cfbl-address');
  return { ...mail, headers: [...headers, { key: 'CFBL-Address', value: `${returnPath}; report=arf` }] };
}

/**
 * The headers that a signature covers: those of nodemailer's default that mails can have, and `List-Unsubscribe-Post`
 * and `CFBL-Address`, which must be signed (RFC 8058, 4; RFC 9477, 3.1).
 */
const SIGNED_HEADERS = [
  'From:Sender:Reply-To:Subject:Date:Message-ID:To:Cc:MIME-Version:Content-Type:Content-Transfer-Encoding',
  'In-Reply-To:References:List-Id:List-Help:List-Unsubscribe:List-Unsubscribe-Post:List-Subscribe:List-Post:List-Archive:CFBL-Address',
].join(':');

/** Returns nodemailer's options for signing mails for a domain. Empty if mails are not signed. */
function signatureOf(dkim: DkimSigning | undefined, domainName: string | undefined) {
  if (dkim === undefined || domainName === undefined) return {};
  const { keySelector, privateKey } = dkim;
  return { dkim: { domainName, keySelector, privateKey, headerFieldNames: SIGNED_HEADERS } };
}
