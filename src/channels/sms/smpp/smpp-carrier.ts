/**
 * An SMPP 3.4 carrier with one transceiver session, or with a transmitter and a receiver. A session that ends is bound
 * again. Messages are submitted over the first session.
 *
 * A **part** is one submit_sm. The first part of a long message is sent alone. When it is accepted, the others follow
 * on the same session without waiting for each other. A refusal nearly always concerns the whole message, so it comes
 * before any part was sent. If a later part fails, the whole message fails (`rejected`, `unavailable`), although parts
 * of it may have been delivered. The reason says so, and a retry uses the same concatenation reference.
 */
import type { Pdu } from 'smpp';
import type { Logger } from '../../../domain/ports/logger.ts';
import type {
  InboundSink,
  InboundText,
  Provider,
  ProviderHealth,
  ProviderOutcome,
  ReportSink,
  SmsSubmission,
} from '../../../domain/ports/provider.ts';
import { MAY_NOT_LEAVE, mayLeave } from '../../may-leave.ts';
import { sidOf } from '../../sid-of.ts';
import {
  ESME_RINVBNDSTS,
  ESME_RMSGQFUL,
  ESME_ROK,
  ESME_RX_T_APPN,
  refusalKind,
  statusName,
  statusText,
} from './command-status.ts';
import { readIncoming } from './delivery-receipt.ts';
import { LateAnswers } from './late-answers.ts';
import { joinParts, LongMessageReferences, type PartOutcome } from './long-message.ts';
import { ReportBatcher } from './report-batcher.ts';
import { notSent, SmppLink, unasked, unavailable } from './smpp-link.ts';
import type { Answer, SmppSession } from './smpp-session.ts';
import { type BindRole, parseSmppUrl, type SmppSettings, type SmppTiming } from './smpp-settings.ts';
import { partFields, type SmppMessage, toSmppMessage } from './submit-sm.ts';

/** A later part that the carrier throttles is sent at most this many times. Then the whole message fails. */
const LATER_PART_TRIES = 3;
/**
 * The retry of a skipped message (see smpp-session.ts) waits this many times `submitTimeoutMs`. The message held a
 * place in the window for a long time, and other messages need the place.
 */
const SKIPPED_PAUSE = 5;
/** Number of mobile-originated messages that may be handled at the same time. */
const MAX_INBOUND = 100;

export interface SmppCarrierOptions {
  /** `smpp://systemId:password@host:2775?window=50`. See `parseSmppUrl`. */
  readonly url: string;
  readonly logger: Logger;
  /** Timeouts in ms. They take precedence over the timeouts in the URL. */
  readonly timing?: Partial<SmppTiming>;
  /** Certificates (PEM) to trust instead of the system's, for smpps. */
  readonly tlsCa?: string;
  readonly now?: (() => Date) | undefined;
  /** Returns a number from 0 to 1, for random variation of pauses. */
  readonly random?: () => number;
}

interface Draft {
  readonly submission: SmsSubmission;
  readonly message: SmppMessage;
  readonly reference: number;
}

/**
 * Implements `Provider` for SMS over SMPP (R13 to R16).
 * - `unavailable`: no session was bound within boundWaitMs, the carrier throttled, it reported a temporary error, or
 *   the session ended without an answer. In the last case, the reason says that the outcome is unknown.
 * - `rejected`: a permanent error, with its SMPP name as code.
 *
 * A slow answer is awaited as long as the session lives. Reports are acknowledged when they are in the database or on
 * disk. Throws an Error if the URL is invalid.
 */
export function createSmppCarrier(options: SmppCarrierOptions): Provider<SmsSubmission> {
  return new SmppCarrier(options);
}

class SmppCarrier implements Provider<SmsSubmission> {
  readonly name: string;
  readonly #settings: SmppSettings;
  readonly #logger: Logger;
  readonly #now: () => Date;
  readonly #references: LongMessageReferences;
  readonly #lateAnswers = new LateAnswers();
  /** One link for each session. The link keeps its session bound. Messages are submitted over the first session. */
  readonly #links: readonly [SmppLink, ...SmppLink[]];
  #reports: ReportBatcher | undefined;
  #stopped: Promise<void> | undefined;
  #inFlight = 0;
  #whenIdle: (() => void) | undefined;
  #moCount = 0;
  #onInbound: InboundSink | undefined;
  /** The MOs that are being handled. */
  readonly #inbound = new Set<Promise<void>>();

  constructor(options: SmppCarrierOptions) {
    const random = options.random ?? Math.random;
    this.#settings = parseSmppUrl(options.url, options.timing);
    const { systemId, host, port } = this.#settings;
    this.name = `smpp:${systemId}@${host}:${port}`;
    this.#logger = options.logger.child({ carrier: this.name });
    this.#now = options.now ?? (() => new Date());
    this.#references = new LongMessageReferences(random);
    const link = (role: BindRole) =>
      new SmppLink({
        settings: this.#settings,
        role,
        logger: this.#logger,
        tlsCa: options.tlsCa ?? this.#settings.tlsCa,
        random,
        onIncoming: (pdu, acknowledge) => this.#receive(pdu, acknowledge),
      });
    const [first, ...others] = this.#settings.sessions;
    this.#links = [link(first), ...others.map(link)];
  }

  start(onReports: ReportSink, onInbound: InboundSink): void {
    if (this.#reports !== undefined || this.#stopped !== undefined) return;
    this.#onInbound = onInbound;
    this.#reports = new ReportBatcher(this.name, onReports, this.#logger);
    for (const link of this.#links) link.start();
  }

  async submit(submission: SmsSubmission, signal: AbortSignal): Promise<ProviderOutcome> {
    try {
      const message = toSmppMessage(submission, this.#settings, this.#now());
      if ('kind' in message) return message;
      const sid = this.#lateAnswers.sidOf(submission);
      if (sid !== undefined) return { kind: 'accepted', sid };
      for (;;) {
        const session = await this.#links[0].session(signal);
        if ('kind' in session) return session;
        if (await session.window.acquire(signal))
          return await this.#begin(session, submission, message, signal);
        if (signal.aborted) return unasked('the SMPP window was full');
        // Do not wait for the next session of this carrier, because another carrier can send the message sooner.
        if (session.isRetired) return notSent('the SMSC does not answer earlier messages');
        // The session has ended or is stopping. The next turn of the loop waits for a new session.
      }
    } catch (error) {
      this.#logger.error(
        { err: error, messageId: submission.messageId },
        'SMPP submission failed unexpectedly',
      );
      // It is a fault of this gateway, and says nothing about the carrier. Some parts may have been sent.
      return { ...unavailable('the message could not be written as SMPP'), asked: false };
    }
  }

  /**
   * Up if all sessions are bound. Without the receiver, messages are still sent, and their reports wait at the SMSC.
   */
  health(): ProviderHealth {
    const health =
      this.#stopped === undefined ? this.#linkHealth() : { state: 'down' as const, detail: 'stopped' };
    return { name: this.name, ...health, inFlight: this.#inFlight };
  }

  #linkHealth(): Pick<ProviderHealth, 'state' | 'detail'> {
    const index = this.#links.findIndex(({ health }) => health.state !== 'up');
    const link = this.#links[index];
    if (!link) return { state: 'up' };
    const { state, detail } = link.health;
    if (detail === undefined) return { state };
    return {
      state,
      detail: this.#links.length === 1 ? detail : `${this.#settings.sessions[index]}: ${detail}`,
    };
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    for (const link of this.#links) link.refuseNew();
    let timer: NodeJS.Timeout | undefined;
    const grace = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, this.#settings.timing.stopGraceMs);
    });
    await Promise.race([grace, this.#settled()]);
    clearTimeout(timer);
    await Promise.all(this.#links.map((link) => link.stop()));
    this.#logger.info({ moCount: this.#moCount }, 'SMPP carrier stopped');
  }

  async #settled(): Promise<void> {
    if (this.#inFlight > 0) {
      await new Promise<void>((resolve) => {
        this.#whenIdle = resolve;
      });
    }
    await this.#reports?.idle();
    await Promise.all(this.#inbound);
  }

  /** Sends a message. The caller must hold a place in the session's window. */
  async #begin(
    session: SmppSession,
    submission: SmsSubmission,
    message: SmppMessage,
    signal: AbortSignal,
  ): Promise<ProviderOutcome> {
    this.#inFlight++;
    try {
      const isAllowed = await mayLeave(submission);
      if (!isAllowed || signal.aborted) {
        session.window.release();
        const reason = isAllowed ? 'its time to leave was over' : MAY_NOT_LEAVE;
        return unasked(reason);
      }
      const parts = message.text.parts.length;
      if (parts <= 1) {
        const { throttled: _, ...outcome } = await this.#sendPart(
          session,
          { submission, message, reference: 0 },
          0,
        );
        return outcome;
      }
      return await this.#sendLong(session, submission, message);
    } finally {
      this.#inFlight--;
      if (this.#inFlight === 0) this.#whenIdle?.();
    }
  }

  async #sendLong(
    session: SmppSession,
    submission: SmsSubmission,
    message: SmppMessage,
  ): Promise<ProviderOutcome> {
    const key = `${submission.messageId}:${submission.position}`;
    const draft = { submission, message, reference: this.#references.take(key) };
    const outcomes = [await this.#sendPart(session, draft, 0)];
    if (outcomes[0]?.kind === 'accepted') {
      const rest = message.text.parts.slice(1);
      outcomes.push(...(await Promise.all(rest.map((_, i) => this.#sendLaterPart(session, draft, i + 1)))));
    }
    const outcome = joinParts(outcomes, message.text.parts.length);
    if (outcome.kind === 'unavailable') this.#references.keep(key, draft.reference);
    else this.#references.forget(key);
    return outcome;
  }

  /**
   * Sends a later part. A partly sent message should be completed. So this method waits while the carrier throttles,
   * and ignores the caller's signal.
   */
  async #sendLaterPart(session: SmppSession, draft: Draft, index: number): Promise<PartOutcome> {
    for (let tries = 1; ; tries++) {
      if (!(await session.window.acquireForLaterPart(this.#settings.timing.submitTimeoutMs))) {
        return unavailable('the session of the first part has ended');
      }
      const outcome = await this.#sendPart(session, draft, index);
      if (!outcome.throttled || tries === LATER_PART_TRIES) return outcome;
    }
  }

  /** Sends one part. The caller must hold a place in the window, which is released at the end. */
  async #sendPart(session: SmppSession, draft: Draft, index: number): Promise<PartOutcome> {
    const { submission, message, reference } = draft;
    try {
      if (this.#now() >= submission.expiresAt) return unasked('the message expired before it could be sent');
      const answer = await session.submit(partFields(message, index, reference), (messageId) => {
        // Remember the late answer only for a message of one part. A long message is sent again with all its parts and
        // the same reference.
        if (message.text.parts.length <= 1)
          this.#lateAnswers.note(submission, sidOf(messageId, submission, index));
      });
      return this.#read(session, answer, submission, index);
    } finally {
      session.window.release();
    }
  }

  #read(session: SmppSession, answer: Answer, submission: SmsSubmission, index: number): PartOutcome {
    switch (answer.kind) {
      case 'unsent':
        return notSent('the SMPP session ended before the message was sent');
      case 'closed':
        return unavailable(
          `the SMPP session ended before the answer came (${answer.reason}); it is unknown whether the carrier accepted the message`,
        );
      case 'skipped': {
        const reason = `${answer.reason}, although later ones were; it is unknown whether the carrier accepted the message`;
        const { submitTimeoutMs } = this.#settings.timing;
        return { ...unavailable(reason, SKIPPED_PAUSE * submitTimeoutMs), onlyThis: true };
      }
    }
    const { status, messageId } = answer;
    if (status === ESME_ROK) {
      session.window.succeeded();
      return { kind: 'accepted', sid: sidOf(messageId, submission, index) };
    }
    const reason = statusText(status);
    switch (refusalKind(status)) {
      case 'throttled': {
        const pauseMs = session.window.throttled();
        return { ...notSent(reason, Math.max(1, Math.ceil(pauseMs))), throttled: true };
      }
      case 'temporary':
        if (status === ESME_RINVBNDSTS) session.end('the SMSC says the session is not bound');
        return notSent(reason);
      case 'permanent':
        return { kind: 'rejected', asked: true, code: statusName(status), reason };
    }
  }

  #receive(pdu: Pdu, acknowledge: (status: number) => void): void {
    const incoming = readIncoming(pdu);
    switch (incoming.kind) {
      case 'report':
        if (this.#reports === undefined) acknowledge(ESME_RX_T_APPN);
        else this.#reports.add(incoming.report, acknowledge);
        return;
      case 'undecided':
        this.#logger.debug({ stat: incoming.stat }, 'SMPP receipt without a final state ignored');
        break;
      case 'unreadable':
        this.#logger.warn({}, 'SMPP receipt without id or state ignored');
        break;
      case 'mo':
        this.#moCount++;
        if (incoming.message) {
          this.#takeInbound(incoming.message, acknowledge);
          return;
        }
    }
    acknowledge(ESME_ROK);
  }

  /** Acknowledges an MO when it has taken effect. If that fails, most SMSCs send it again. */
  #takeInbound(message: InboundText, acknowledge: (status: number) => void): void {
    if (this.#inbound.size >= MAX_INBOUND) {
      acknowledge(ESME_RMSGQFUL);
      return;
    }
    const taken = (async () => {
      try {
        await this.#onInbound?.(this.name, message);
        acknowledge(ESME_ROK);
      } catch (error) {
        this.#logger.warn({ err: error }, 'a mobile-originated message could not be handled');
        acknowledge(ESME_RX_T_APPN);
      }
    })();
    this.#inbound.add(taken);
    void taken.then(() => this.#inbound.delete(taken));
  }
}
