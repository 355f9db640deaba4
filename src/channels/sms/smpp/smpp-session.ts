/**
 * One bound connection to an SMSC, from connecting to its end; never used again afterwards. It knows
 * PDUs, not messages. Requests are matched with answers by sequence_number, in whatever order they come.
 *
 * **Overdue**: a submission without an answer for submitTimeoutMs. Where a younger one has been answered, the carrier
 * has passed it over: it alone is given up (**skipped**), or one tenant's message would end everybody's session; whoever
 * sent it is told when it is taken late all the same.
 * Otherwise it is not given up, since its message would be sent twice when the carrier was only slow: its answer still
 * counts for as long as the session lives. But the session **retires**: nothing fresh goes over it, and once none but
 * overdue submissions are on the wire it ends.
 */

import type net from 'node:net';
import type { Pdu, PduFields } from 'smpp';
import type { Logger } from '../../../domain/ports/logger.ts';
import { TransientMap } from '../../../runtime/transient-map.ts';
import { ESME_RINVCMDID, ESME_RINVCMDLEN, ESME_ROK, isBadCredentials, statusText } from './command-status.ts';
import { SmppEnquiry } from './enquire-link.ts';
import { decodePdu, encodePdu, FrameReader, frameHeader } from './pdu.ts';
import type { BindRole, SmppSettings } from './smpp-settings.ts';
import { openSocket, pduWriter } from './smpp-socket.ts';
import { SubmitWindow } from './submit-window.ts';

const INTERFACE_VERSION = 0x34;
const MAX_SEQUENCE = 0x7fff_ffff;
const UNBIND_TIMEOUT_MS = 1_000;
/** Submissions that were given up and whose late answers are still listened for: a window's worth. */
const MAX_SKIPPED = 1_000;

export interface SessionOptions {
  readonly settings: SmppSettings;
  readonly role: BindRole;
  readonly logger: Logger;
  /** Certificates to trust instead of the system's, PEM. */
  readonly tlsCa?: string;
  /** A deliver_sm or data_sm; `acknowledge` answers it, and does nothing once the session has ended. */
  readonly onIncoming: (pdu: Pdu, acknowledge: (status: number) => void) => void;
}

/** Told the message_id of a submission that was given up and taken later. */
type OnLate = (messageId: string | undefined) => void;

export class SmppSession {
  readonly window: SubmitWindow;
  /** Resolves with the reason once the session has ended; never rejects. */
  readonly ended: Promise<string>;
  readonly #options: SessionOptions;
  /** By sequence_number, what takes the answer. */
  readonly #pending = new TransientMap<number, (answer: Answer) => void>();
  /** By sequence_number, whom to tell that a skipped submission was taken; the oldest first. */
  readonly #skipped = new TransientMap<number, OnLate>();
  readonly #reader = new FrameReader();
  readonly #enquiry: SmppEnquiry;
  readonly #overdueReason: string;
  #socket: net.Socket | undefined;
  #write: (bytes: Buffer) => void = () => {};
  #resolveEnded: (reason: string) => void = () => {};
  #endReason: string | undefined;
  #sequence = 0;
  #isRetired = false;
  /** Submissions on the wire that are not overdue. */
  #awaited = 0;
  /** When the youngest of the submissions that have an answer was sent (performance.now, ms). */
  #youngestAnswered = 0;

  constructor(options: SessionOptions) {
    this.#options = options;
    const { window, timing } = options.settings;
    this.window = new SubmitWindow(window, timing.throttlePauseMs);
    this.#overdueReason = `a submission was not answered within ${timing.submitTimeoutMs} ms`;
    this.#enquiry = new SmppEnquiry(
      timing,
      () => this.request('enquire_link', {}),
      (reason) => this.end(reason),
    );
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
  }

  /** True from the first cause of its end on, before the socket has closed. */
  get hasEnded(): boolean {
    return this.#endReason !== undefined;
  }

  /** True once a submission was overdue: no message may begin on this session. */
  get isRetired(): boolean {
    return this.#isRetired;
  }

  /** Connects and binds in its role, within bindTimeoutMs. Never rejects; a session that was not bound has ended. */
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

  /** Sends a request and waits for its answer as long as the session lives. Rejects only with a field that cannot be encoded. */
  request(command: string, fields: PduFields): Promise<Answer> {
    return new Promise((settle) => {
      if (this.#endReason !== undefined) return settle({ kind: 'unsent' });
      const sequence = this.#nextSequence();
      const bytes = encodePdu(command, { ...fields, sequence_number: sequence });
      this.#pending.set(sequence, settle);
      this.#write(bytes);
    });
  }

  /** `request` for submit_sm; one that is overdue is given up or retires the session. */
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

  /** Says goodbye, waits for the answer (1 s at most) and for the socket to close. */
  async unbind(reason = 'unbound'): Promise<void> {
    const timer = setTimeout(() => this.end(reason), UNBIND_TIMEOUT_MS);
    await this.request('unbind', {});
    clearTimeout(timer);
    this.end(reason);
    await this.ended;
  }

  /** Ends the session at once; what is on the wire is answered with `closed`. The first reason given counts. */
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
    // Lets a last answer out; a peer that does not read must not keep the socket for ever.
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
    // Not before a long message whose first part was just answered has sent its other parts.
    setImmediate(() => {
      if (this.#awaited === 0) void this.unbind(this.#overdueReason);
    });
  }

  #read(chunk: Buffer): void {
    this.#enquiry.heard();
    // A handler's fault must cost this session at most, never the process.
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
      // Dropping the session instead would have the SMSC repeat the PDU at the next bind, for ever.
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
    // Some carriers answer with generic_nack and status 0; it is a refusal all the same.
    const status = pdu.command === 'generic_nack' ? pdu.command_status || ESME_RINVCMDID : pdu.command_status;
    settle({ kind: 'answered', status, messageId: pdu.message_id });
  }

  #hearLate({ command, sequence_number: sequence, command_status: status, message_id: sid }: Pdu): void {
    const onLate = this.#skipped.get(sequence);
    this.#skipped.delete(sequence);
    const isTaken = command === 'submit_sm_resp' && status === ESME_ROK;
    if (onLate && isTaken) onLate(sid);
    else this.#options.logger.warn({ command, sid, status }, 'SMPP answer to no request');
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
        // Neither has an answer in SMPP 3.4.
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

/** How a request of ours ended. */
export type Answer =
  | { readonly kind: 'answered'; readonly status: number; readonly messageId: string | undefined }
  /** The session ended with the request on the wire: whether it arrived is not known. */
  | { readonly kind: 'closed'; readonly reason: string }
  /** The carrier answers others and not this one: whether it has it is not known. */
  | { readonly kind: 'skipped'; readonly reason: string }
  /** The session had ended before: nothing was sent. */
  | { readonly kind: 'unsent' };

/** How an attempt to bind ended. */
export type BindOutcome =
  | { readonly bound: true }
  | { readonly bound: false; readonly reason: string; readonly badCredentials: boolean };
