/**
 * One connection to an SMSC, from connecting to its end. It is never reused. It handles PDUs, not messages. Answers are
 * matched to requests by sequence_number and may come in any order.
 *
 * - **Overdue**: a submission that has no answer after submitTimeoutMs.
 * - **Skipped**: an overdue submission, if a later one has been answered. Only this submission is given up, because one
 *   message must not end the session for all. `onLate` is called if the carrier accepts it later.
 * - **Retired**: the session, after any other overdue submission. That submission is not given up, because the carrier
 *   may only be slow, and a retry would send the message twice. Its answer counts as long as the session lives. A
 *   retired session takes no new messages. It ends when only overdue submissions are unanswered.
 */

import type net from 'node:net';
import type { Pdu, PduFields } from 'smpp';
import type { Logger } from '../../../domain/ports/logger.ts';
import { TransientMap } from '../../../runtime/transient-map.ts';
import { ESME_RINVCMDID, ESME_RINVCMDLEN, ESME_ROK, isBadCredentials, statusText } from './command-status.ts';
import { EnquireLink } from './enquire-link.ts';
import { decodePdu, encodePdu, FrameReader, frameHeader } from './pdu.ts';
import type { BindRole, SmppSettings } from './smpp-settings.ts';
import { openSocket, pduWriter } from './smpp-socket.ts';
import { SubmitWindow } from './submit-window.ts';

const INTERFACE_VERSION = 0x34;
const MAX_SEQUENCE = 0x7fff_ffff;
const UNBIND_TIMEOUT_MS = 1_000;
/** Number of skipped submissions whose late answers are expected. It equals the largest window. */
const MAX_SKIPPED = 1_000;

export interface SessionOptions {
  readonly settings: SmppSettings;
  readonly role: BindRole;
  readonly logger: Logger;
  /** Certificates (PEM) to trust instead of the system's. */
  readonly tlsCa?: string;
  /**
   * Called with each deliver_sm or data_sm. `acknowledge` sends the answer. It does nothing when the session has ended.
   */
  readonly onIncoming: (pdu: Pdu, acknowledge: (status: number) => void) => void;
}

/** Called with the message_id if the carrier accepts a skipped submission later. */
type OnLate = (messageId: string | undefined) => void;

export class SmppSession {
  readonly window: SubmitWindow;
  /** Resolves with the reason when the session has ended. Never rejects. */
  readonly ended: Promise<string>;
  readonly #options: SessionOptions;
  /** Functions that handle an answer, by sequence_number. */
  readonly #pending = new TransientMap<number, (answer: Answer) => void>();
  /** Functions that handle a late answer to a skipped submission, by sequence_number, oldest first. */
  readonly #skipped = new TransientMap<number, OnLate>();
  readonly #reader = new FrameReader();
  readonly #enquiry: EnquireLink;
  readonly #overdueReason: string;
  #socket: net.Socket | undefined;
  #write: (bytes: Buffer) => void = () => {};
  #resolveEnded: (reason: string) => void = () => {};
  #endReason: string | undefined;
  #sequence = 0;
  #isRetired = false;
  /** Number of unanswered submissions that are not overdue. */
  #awaited = 0;
  /** When the latest of the answered submissions was sent (performance.now, ms). */
  #youngestAnswered = 0;

  constructor(options: SessionOptions) {
    this.#options = options;
    const { window, timing } = options.settings;
    this.window = new SubmitWindow(window, timing.throttlePauseMs);
    this.#overdueReason = `a submission was not answered within ${timing.submitTimeoutMs} ms`;
    this.#enquiry = new EnquireLink(
      timing,
      () => this.request('enquire_link', {}),
      (reason) => this.end(reason),
    );
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
  }

  /** True as soon as there is a reason to end, even if the socket is not closed yet. */
  get hasEnded(): boolean {
    return this.#endReason !== undefined;
  }

  /** True after a submission was overdue. No new message may start on this session. */
  get isRetired(): boolean {
    return this.#isRetired;
  }

  /** Connects and binds within bindTimeoutMs. Never rejects. If it could not bind, the session has ended. */
  async open(): Promise<BindOutcome> {
    const { settings, role } = this.#options;
    const { bindTimeoutMs } = settings.timing;
    const timer = setTimeout(() => this.end(`no bind within ${bindTimeoutMs} ms`), bindTimeoutMs);
    let badCredentials = false;
    if (await this.#connect()) {
      const answer = await this.request(`bind_${role}`, {
        system_id: settings.systemId,
        password: settings.password,
        system_type: settings.systemType,
        interface_version: INTERFACE_VERSION,
      });
      if (answer.kind === 'answered' && answer.status !== ESME_ROK) {
        badCredentials = isBadCredentials(answer.status);
        this.end(`bind refused: ${statusText(answer.status)}`);
      }
    }
    clearTimeout(timer);
    if (this.#endReason !== undefined) return { bound: false, reason: this.#endReason, badCredentials };
    this.#enquiry.start();
    return { bound: true };
  }

  /**
   * Sends a request and waits for its answer as long as the session lives. Rejects only if a field cannot be encoded.
   */
  request(command: string, fields: PduFields): Promise<Answer> {
    return new Promise((settle) => {
      if (this.#endReason !== undefined) return settle({ kind: 'unsent' });
      const sequence = this.#nextSequence();
      const bytes = encodePdu(command, { ...fields, sequence_number: sequence });
      this.#pending.set(sequence, settle);
      this.#write(bytes);
    });
  }

  /** Sends a submit_sm. An overdue submission is skipped, or it retires the session. */
  async submit(fields: PduFields, onLate: OnLate): Promise<Answer> {
    const { submitTimeoutMs } = this.#options.settings.timing;
    const sentAt = performance.now();
    const answered = this.request('submit_sm', fields);
    const sequence = this.#sequence;
    let isOverdue = false;
    const timer = setTimeout(() => {
      if (this.#youngestAnswered > sentAt) return this.#skip(sequence, onLate);
      isOverdue = true;
      this.#noLongerAwaited(true);
    }, submitTimeoutMs);
    this.#awaited++;
    try {
      const answer = await answered;
      if (answer.kind === 'answered') this.#youngestAnswered = Math.max(this.#youngestAnswered, sentAt);
      return answer;
    } finally {
      clearTimeout(timer);
      if (!isOverdue) this.#noLongerAwaited(false);
    }
  }

  /** Sends unbind, waits at most 1 s for the answer, and then until the socket is closed. */
  async unbind(reason = 'unbound'): Promise<void> {
    const timer = setTimeout(() => this.end(reason), UNBIND_TIMEOUT_MS);
    await this.request('unbind', {});
    clearTimeout(timer);
    this.end(reason);
    await this.ended;
  }

  /** Ends the session at once. Unanswered requests get the answer `closed`. Only the first call counts. */
  end(reason: string): void {
    if (this.#endReason !== undefined) return;
    this.#endReason = reason;
    this.#enquiry.stop();
    this.window.close();
    for (const [sequence, settle] of this.#pending.entries()) {
      this.#pending.delete(sequence);
      settle({ kind: 'closed', reason });
    }
    const socket = this.#socket;
    if (socket === undefined || socket.closed) {
      this.#resolveEnded(reason);
      return;
    }
    socket.once('close', () => this.#resolveEnded(reason));
    // Close the socket after the last answer was sent. If the peer does not read, close it after a timeout.
    socket.destroySoon();
    const timer = setTimeout(() => socket.destroy(), UNBIND_TIMEOUT_MS);
    socket.once('close', () => clearTimeout(timer));
  }

  #connect(): Promise<boolean> {
    const { settings, tlsCa } = this.#options;
    const socket = openSocket(settings, tlsCa);
    this.#socket = socket;
    this.#write = pduWriter(socket);
    socket.on('data', (chunk) => this.#read(chunk));
    socket.on('error', (error: NodeJS.ErrnoException) => this.end(error.message || String(error.code)));
    socket.on('close', () => this.end('the connection was closed by the SMSC'));
    return new Promise((resolve) => {
      socket.once(settings.tls ? 'secureConnect' : 'connect', () => resolve(this.#endReason === undefined));
      void this.ended.then(() => resolve(false));
    });
  }

  #skip(sequence: number, onLate: OnLate): void {
    const settle = this.#pending.get(sequence);
    this.#pending.delete(sequence);
    const [oldest] = this.#skipped.entries();
    if (oldest && this.#skipped.size >= MAX_SKIPPED) this.#skipped.delete(oldest[0]);
    this.#skipped.set(sequence, onLate);
    settle?.({ kind: 'skipped', reason: this.#overdueReason });
  }

  #noLongerAwaited(isOverdue: boolean): void {
    this.#awaited--;
    if (isOverdue && !this.#isRetired) {
      this.#isRetired = true;
      this.window.refuseNew();
      this.#options.logger.warn({ reason: this.#overdueReason }, 'SMPP session takes no more messages');
    }
    if (!this.#isRetired || this.#awaited > 0) return;
    // Wait for the next turn of the event loop. The first part of a long message may just have been answered, and its
    // other parts must be sent first.
    setImmediate(() => {
      if (this.#awaited === 0) void this.unbind(this.#overdueReason);
    });
  }

  #read(chunk: Buffer): void {
    this.#enquiry.heard();
    // A bug in a handler may end this session, but never the process.
    try {
      for (const frame of this.#reader.push(chunk)) {
        if (this.#endReason !== undefined) return;
        this.#receive(frame);
      }
    } catch (error) {
      this.end(`malformed PDU: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  #receive(frame: Buffer): void {
    let pdu: Pdu;
    try {
      pdu = decodePdu(frame);
    } catch (error) {
      const { isResponse, sequence } = frameHeader(frame);
      if (isResponse) throw error;
      // Refuse only this PDU. If the session ended, the SMSC would send the same PDU again after each bind.
      this.#options.logger.warn({}, 'malformed SMPP request refused');
      this.#write(encodePdu('generic_nack', { command_status: ESME_RINVCMDLEN, sequence_number: sequence }));
      return;
    }
    if (pdu.isResponse()) this.#settle(pdu);
    else this.#serve(pdu);
  }

  #settle(pdu: Pdu): void {
    const settle = this.#pending.get(pdu.sequence_number);
    if (settle === undefined) {
      this.#hearLate(pdu);
      return;
    }
    this.#pending.delete(pdu.sequence_number);
    // Some carriers send generic_nack with status 0. Treat it as a refusal all the same.
    const status = pdu.command === 'generic_nack' ? pdu.command_status || ESME_RINVCMDID : pdu.command_status;
    settle({ kind: 'answered', status, messageId: pdu.message_id });
  }

  #hearLate({ command, sequence_number: sequence, command_status: status, message_id: sid }: Pdu): void {
    const onLate = this.#skipped.get(sequence);
    this.#skipped.delete(sequence);
    const isTaken = command === 'submit_sm_resp' && status === ESME_ROK;
    if (onLate && isTaken) onLate(sid);
    else this.#options.logger.warn({ command, sid, status }, 'SMPP answer without a request');
  }

  #serve(pdu: Pdu): void {
    switch (pdu.command) {
      case 'deliver_sm':
      case 'data_sm':
        this.#options.onIncoming(pdu, (status) => this.#respond(pdu, status));
        break;
      case 'enquire_link':
        this.#respond(pdu, ESME_ROK);
        break;
      case 'unbind':
        this.#respond(pdu, ESME_ROK);
        this.end('unbound by the SMSC');
        break;
      case 'alert_notification':
      case 'outbind':
        // For these requests SMPP 3.4 defines no answer.
        break;
      default:
        this.#write(
          encodePdu('generic_nack', { command_status: ESME_RINVCMDID, sequence_number: pdu.sequence_number }),
        );
    }
  }

  #respond(pdu: Pdu, status: number): void {
    if (this.#endReason !== undefined) return;
    this.#write(pdu.response({ command_status: status }).toBuffer());
  }

  #nextSequence(): number {
    do {
      this.#sequence = this.#sequence === MAX_SEQUENCE ? 1 : this.#sequence + 1;
    } while (this.#pending.get(this.#sequence) !== undefined);
    return this.#sequence;
  }
}

/** How a request ended. */
export type Answer =
  | { readonly kind: 'answered'; readonly status: number; readonly messageId: string | undefined }
  /** The session ended before the answer. It is unknown whether the request arrived. */
  | { readonly kind: 'closed'; readonly reason: string }
  /**
   * The carrier answered later requests, but not this request. It is unknown whether the carrier received this request.
   */
  | { readonly kind: 'skipped'; readonly reason: string }
  /** The session had ended before. Nothing was sent. */
  | { readonly kind: 'unsent' };

/** The result of a bind. */
export type BindOutcome =
  | { readonly bound: true }
  | { readonly bound: false; readonly reason: string; readonly badCredentials: boolean };
