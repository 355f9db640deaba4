/**
 * SMSC simulator: the carrier's side of SMPP 3.4 on a real socket. It records what it receives. A test can make it
 * misbehave.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Pdu, PduFields, Server, Session } from 'smpp';
import { smpp } from '../../src/channels/sms/smpp/pdu.ts';
import { selfSignedCertificate } from './self-signed.ts';
import {
  type ReceivedSubmit,
  type ReportContent,
  type ReportPlan,
  reportFields,
  toSubmit,
} from './smsc-pdus.ts';
import { assemble, type ReceivedMessage } from './smsc-text.ts';

/**
 * `silent`: never answer. `late`: answer when `answerLate` is called. `drop`: close the connection instead. A number:
 * answer with this command_status.
 */
export type SubmitAnswer = 'accept' | 'throttle' | 'silent' | 'late' | 'drop' | number;

type Reports = ReportPlan | readonly ReportPlan[] | undefined;

export interface SmscBehaviour {
  readonly answer: SubmitAnswer | ((submit: ReceivedSubmit) => SubmitAnswer);
  readonly answerDelayMs: number;
  /** Collects this many answers, and then sends them in reverse order. With 1 the order does not change. */
  readonly answersReversedBy: number;
  readonly messageIds: 'decimal' | 'hex' | 'padded';
  /** The reports for each submission. There may be several, because a carrier may report twice. */
  readonly reports: Reports | ((submit: ReceivedSubmit) => Reports);
  /**
   * True to send a report again that was refused, or not answered before its connection ended. Not every SMSC does
   * this.
   */
  readonly repeatsReports: boolean;
  /** Which connection reports are sent on: the first one that accepts reports, or each in turn. */
  readonly reportsOver: 'first' | 'each';
  /** Time in ms until a refused report is sent again. */
  readonly repeatReportMs: number;
  readonly answersEnquireLink: boolean;
  /** The command_status of the answer to every bind, whatever the credentials. */
  readonly bindStatus: number | undefined;
  readonly answersBind: boolean;
  /** The bind command that is answered with ESME_RALYBND, such as `bind_receiver`. */
  readonly refusedBind: string | undefined;
}

export interface SmscOptions extends Partial<SmscBehaviour> {
  /** Default: 0, which means any free port. */
  readonly port?: number;
  readonly systemId?: string;
  readonly password?: string;
  /** True: TLS with a self-signed certificate, whose CA is `tlsCa`. Or TLS with the given certificate. */
  readonly tls?: boolean | { readonly key: string; readonly cert: string };
}

/** A report, and the command_status of every answer to it. It is sent again until an answer is 0. */
export interface SentReport {
  readonly sid: string;
  /** The `ReceivedSubmit.index` of the submission that the report is about. Undefined if a test sent the report. */
  readonly index?: number;
  readonly answers: number[];
}

const DEFAULTS: SmscBehaviour = {
  answer: 'accept',
  answerDelayMs: 0,
  answersReversedBy: 1,
  messageIds: 'decimal',
  reports: undefined,
  repeatsReports: true,
  reportsOver: 'first',
  repeatReportMs: 20,
  answersEnquireLink: true,
  bindStatus: undefined,
  answersBind: true,
  refusedBind: undefined,
};
/** Starts a simulator on 127.0.0.1. Resolves when it listens. Call `stop()` at the end. */
export async function startSmsc(options: SmscOptions = {}): Promise<Smsc> {
  const smsc = new Smsc(options);
  await smsc.listen(options.port ?? 0);
  return smsc;
}

export class Smsc {
  readonly received: ReceivedSubmit[] = [];
  readonly reports: SentReport[] = [];
  /** The fields of every bind, and the status of its answer. */
  readonly binds: {
    systemId: string;
    password: string;
    systemType: string;
    command: string;
    status: number;
  }[] = [];
  /** The commands of all received requests and responses, in order. */
  readonly commands: string[] = [];
  readonly tlsCa: string | undefined;
  /** The largest number of submit_sm PDUs that waited for an answer on one connection. */
  maxUnanswered = 0;
  url = '';
  port = 0;
  readonly #systemId: string;
  readonly #password: string;
  readonly #server: Server;
  readonly #bound = new Set<Session>();
  /** The members of `#bound` that can receive reports: transceivers and receivers. */
  readonly #receivers = new Set<Session>();
  /** The members of `#bound` that may submit: transceivers and transmitters. */
  readonly #transmitters = new Set<Session>();
  /** For each connection: the reports without an answer. When the connection is lost, they are sent again. */
  readonly #unsettled = new WeakMap<Session, Set<() => void>>();
  readonly #undelivered: (() => void)[] = [];
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #scheme: string;
  #behaviour: SmscBehaviour;
  #connections = 0;
  /** Number of reports sent, including repetitions. */
  #sent = 0;
  /** Number of messages that were received before `countAnew` was called. */
  #countedBefore = 0;
  #held: (() => void)[] = [];
  readonly #late: (() => void)[] = [];

  constructor(options: SmscOptions) {
    this.#systemId = options.systemId ?? 'gateway';
    this.#password = options.password ?? 'secret';
    this.#behaviour = { ...DEFAULTS, ...options };
    this.#scheme = options.tls ? 'smpps' : 'smpp';
    const tls = options.tls === true ? selfSignedCertificate() : options.tls || undefined;
    this.tlsCa = tls?.cert;
    this.#server = smpp.createServer({ ...tls }, (session) => this.#accept(session));
  }

  async listen(port: number): Promise<void> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.port = (this.#server.address() as AddressInfo).port;
    this.url = `${this.#scheme}://${this.#systemId}:${this.#password}@127.0.0.1:${this.port}`;
  }

  /** Changes the behaviour from now on. */
  behave(behaviour: Partial<SmscBehaviour>): void {
    this.#behaviour = { ...this.#behaviour, ...behaviour };
    if (behaviour.answersReversedBy !== undefined) this.#answerHeld();
  }

  /** Returns the received texts. The parts of a long text are joined. */
  messages(): ReceivedMessage[] {
    return assemble(this.received);
  }

  /** The number of bound clients. */
  get boundCount(): number {
    return this.#bound.size;
  }

  /** Answers the submissions that wait because of `late`. */
  answerLate(): void {
    for (const answer of this.#late.splice(0)) answer();
  }

  /** Starts the message ids from the beginning, so that ids repeat. */
  countAnew(): void {
    this.#countedBefore = this.received.length;
  }

  /** Closes every connection without an unbind. */
  dropConnections(): void {
    for (const session of [...this.#server.sessions]) session.destroy();
  }

  /** Closes the connections that only receive, or those that only submit. */
  dropOnly(which: 'receivers' | 'transmitters'): void {
    const [dropped, kept] =
      which === 'receivers' ? [this.#receivers, this.#transmitters] : [this.#transmitters, this.#receivers];
    for (const session of [...dropped]) if (!kept.has(session)) session.destroy();
  }

  /** Sends raw bytes to every bound client. */
  sendRaw(bytes: Buffer): void {
    for (const session of this.#bound) session.socket.write(bytes);
  }

  /** Sends a request to every bound client. */
  send(command: string, fields: PduFields = {}, onResponse?: (response: Pdu) => void): void {
    for (const session of this.#bound) session.send(new smpp.PDU(command, fields), onResponse);
  }

  /** Sends a report on a sid at once. */
  report(sid: string, to: string, from: string, plan: ReportContent): void {
    this.#deliver({ sid, answers: [] }, reportFields(sid, to, from, plan));
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.dropConnections();
    await closed;
  }

  #accept(session: Session): void {
    const connection = ++this.#connections;
    let unanswered = 0;
    session.socket.setNoDelay(true);
    session.on('error', () => session.destroy());
    session.on('close', () => {
      for (const sessions of [this.#bound, this.#receivers, this.#transmitters]) sessions.delete(session);
      if (!this.#behaviour.repeatsReports) return;
      for (const again of this.#unsettled.get(session) ?? []) again();
    });
    session.on('pdu', (pdu) => {
      this.commands.push(pdu.command);
      if (pdu.command.startsWith('bind_') && !pdu.isResponse()) this.#bind(session, pdu);
      else if (pdu.command === 'submit_sm' && !this.#transmitters.has(session)) {
        session.send(pdu.response({ command_status: smpp.errors.ESME_RINVBNDSTS! }));
      } else if (pdu.command === 'submit_sm') {
        this.maxUnanswered = Math.max(this.maxUnanswered, ++unanswered);
        this.#submit(session, pdu, connection, () => unanswered--);
      } else if (pdu.command === 'enquire_link') {
        if (this.#behaviour.answersEnquireLink) session.send(pdu.response());
      } else if (pdu.command === 'unbind') {
        session.send(pdu.response());
        session.socket.end();
      }
    });
  }

  #bind(session: Session, pdu: Pdu): void {
    const { system_id: systemId = '', password = '', system_type: systemType = '', command } = pdu;
    const rightful = systemId === this.#systemId && password === this.#password;
    const refused = command === this.#behaviour.refusedBind ? smpp.errors.ESME_RALYBND! : 0;
    const status = this.#behaviour.bindStatus ?? (rightful ? refused : smpp.errors.ESME_RINVPASWD!);
    this.binds.push({ systemId, password, systemType, command, status });
    if (!this.#behaviour.answersBind) return;
    session.send(pdu.response({ command_status: status, system_id: 'simulator' }));
    if (status !== 0) return;
    this.#bound.add(session);
    if (command !== 'bind_transmitter') this.#receivers.add(session);
    if (command !== 'bind_receiver') this.#transmitters.add(session);
    this.#unsettled.set(session, new Set());
    for (const deliver of this.#undelivered.splice(0)) deliver();
  }

  #submit(session: Session, pdu: Pdu, connection: number, answered: () => void): void {
    const submit = toSubmit(pdu, this.received.length, connection, this.#messageId());
    this.received.push(submit);
    const { answer, answerDelayMs, reports } = this.#behaviour;
    const decision = typeof answer === 'function' ? answer(submit) : answer;
    if (decision === 'silent') return;
    if (decision === 'drop') {
      session.destroy();
      return;
    }
    const status =
      decision === 'accept' || decision === 'late'
        ? 0
        : decision === 'throttle'
          ? smpp.errors.ESME_RTHROTTLED!
          : decision;
    const planned = status === 0 ? (typeof reports === 'function' ? reports(submit) : reports) : undefined;
    const plans = planned === undefined ? [] : [planned].flat();
    const report = (when: ReportPlan['when']) => {
      for (const plan of plans) if (plan.when === when) this.#report(submit, plan);
    };
    const respond = () => {
      report('before');
      answered();
      session.send(pdu.response({ command_status: status, message_id: submit.sid }));
      report('after');
    };
    if (decision === 'late') {
      this.#late.push(respond);
      return;
    }
    this.#held.push(() => this.#later(answerDelayMs, respond));
    this.#answerHeld();
  }

  #answerHeld(): void {
    if (this.#held.length < this.#behaviour.answersReversedBy) return;
    for (const answer of this.#held.splice(0).reverse()) answer();
  }

  #report(submit: ReceivedSubmit, plan: ReportPlan): void {
    const fields = reportFields(submit.sid, submit.destination.address, submit.source.address, plan);
    const { sid, index } = submit;
    this.#later(plan.delayMs ?? 0, () => this.#deliver({ sid, index, answers: [] }, fields));
  }

  /** Sends a report on any connection until it is accepted. If reports are not repeated, sends it once. */
  #deliver(report: SentReport, fields: PduFields): void {
    if (report.answers.length === 0 && !this.reports.includes(report)) this.reports.push(report);
    const receivers = [...this.#receivers];
    const session = receivers[this.#behaviour.reportsOver === 'first' ? 0 : this.#sent++ % receivers.length];
    if (session === undefined) {
      this.#undelivered.push(() => this.#deliver(report, fields));
      return;
    }
    const again = () => this.#deliver(report, fields);
    const unsettled = this.#unsettled.get(session);
    unsettled?.add(again);
    session.send(new smpp.PDU('deliver_sm', fields), (response) => {
      unsettled?.delete(again);
      report.answers.push(response.command_status);
      if (response.command_status !== 0 && this.#behaviour.repeatsReports)
        this.#later(Math.max(1, this.#behaviour.repeatReportMs), again);
    });
  }

  #messageId(): string {
    const id = 1_000_000 + this.received.length - this.#countedBefore;
    switch (this.#behaviour.messageIds) {
      case 'hex':
        return id.toString(16).toUpperCase();
      case 'padded':
        return String(id).padStart(12, '0');
      default:
        return String(id);
    }
  }

  #later(delayMs: number, act: () => void): void {
    if (delayMs === 0) {
      act();
      return;
    }
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act();
    }, delayMs);
    this.#timers.add(timer);
  }
}
