/**
 * The carrier of a run: an SMSC that misbehaves on request. It records the submissions and the reports that it sent.
 */
import { smpp } from '../../src/channels/sms/smpp/pdu.ts';
import { type Smsc, type SubmitAnswer, startSmsc } from '../support/smsc.ts';
import type { ReceivedSubmit, ReportPlan } from '../support/smsc-pdus.ts';
import type { Random } from './random.ts';
import type { Disorder } from './schedule.ts';

type Misbehaviour = Extract<Disorder, { kind: 'carrier' }>['how'];
type Stat = 'DELIVRD' | 'UNDELIV';

/** One submission as the carrier saw it: one part of a text to one number. */
export interface HandedOver {
  readonly to: string;
  /** Number of the part, from 1. */
  readonly part: number;
  /** The carrier's answer: success, a temporary refusal, a final refusal, no answer, or a cut connection. */
  readonly answer: 'accepted' | 'throttled' | 'rejected' | 'none' | 'cut';
  /** Statuses of the delivery reports on this submission, in the planned order. */
  readonly reports: readonly Stat[];
}

export class Carrier {
  readonly handedOver: HandedOver[] = [];
  readonly smsc: Smsc;
  readonly #random: Random;
  #how: Misbehaviour | undefined;

  private constructor(smsc: Smsc, random: Random) {
    this.smsc = smsc;
    this.#random = random;
  }

  static async start(random: Random): Promise<Carrier> {
    const smsc = await startSmsc({ reportsOver: 'each', answerDelayMs: ANSWER_MS });
    const carrier = new Carrier(smsc, random);
    const plans = new Map<number, readonly ReportPlan[]>();
    smsc.behave({
      answer: (submit) => {
        const answer = carrier.#answerTo(submit);
        const isTaken = answer === 'accept' || answer === 'late';
        const own = isTaken ? carrier.#reportsOn() : [];
        plans.set(submit.index, own);
        carrier.handedOver.push({
          to: numberOf(submit),
          part: partOf(submit),
          answer: isTaken ? 'accepted' : (WORDS.get(answer) ?? 'rejected'),
          reports: own.map(({ stat }) => stat as Stat),
        });
        return answer;
      },
      reports: ({ index }) => plans.get(index),
    });
    return carrier;
  }

  misbehave(how: Misbehaviour): void {
    this.#how = how;
    if (how === 'reversed') this.smsc.behave({ answersReversedBy: 4 });
    if (how === 'slow') this.slowDown();
  }

  /** Delays every answer until the carrier's behaviour is set again. */
  slowDown(): void {
    this.smsc.behave({ answerDelayMs: SLOW_MS });
  }

  behave(): void {
    this.#how = undefined;
    this.smsc.behave({ answersReversedBy: 1, answerDelayMs: ANSWER_MS });
    this.smsc.answerLate();
  }

  /** True if the last attempt to send each report was acknowledged. */
  get isHeard(): boolean {
    return this.smsc.reports.every(({ answers }) => answers.at(-1) === 0);
  }

  #answerTo(submit: ReceivedSubmit): SubmitAnswer {
    switch (this.#how) {
      case 'late':
      case 'silent':
      case 'throttle':
      case 'drop':
        if (this.#random.chance(0.5)) return this.#how;
    }
    // Only a first part is refused, because real carriers refuse a number, not a later part of a text.
    if (partOf(submit) > 1) return 'accept';
    // A number with an earlier submission, other than a throttled one, is refused more often. This tests that the
    // gateway does not refund at once a message that the carrier may have accepted before.
    const wasLost = this.handedOver.some(
      ({ to, answer }) => to === numberOf(submit) && answer !== 'throttled',
    );
    return this.#random.chance(wasLost ? 0.3 : 0.05) ? REJECTED : 'accept';
  }

  /** Plans the reports on a submission: none, one, the same one twice, or two that contradict each other. */
  #reportsOn(): ReportPlan[] {
    if (this.#random.chance(0.2)) return [];
    const first = this.#report(this.#random.chance(0.85) ? 'DELIVRD' : 'UNDELIV');
    if (this.#random.chance(0.8)) return [first];
    const stat = this.#random.chance(0.8) ? (first.stat as Stat) : 'UNDELIV';
    // The second report has the first one's settings, or settings of its own.
    return [first, this.#random.chance(0.5) ? { ...first, stat } : this.#report(stat)];
  }

  #report(stat: Stat): ReportPlan {
    return {
      form: this.#random.pick(['text', 'payload', 'tlv'] as const),
      stat,
      when: this.#random.chance(0.3) ? 'before' : 'after',
      delayMs: this.#random.chance(0.5) ? 0 : this.#random.between(1, 1_500),
    };
  }
}

/** Delay of an answer in ms, normally (`ANSWER_MS`) and when the carrier is slow (`SLOW_MS`). */
const ANSWER_MS = 2;
const SLOW_MS = 200;
const REJECTED = smpp.errors.ESME_RINVDSTADR as number;
const WORDS = new Map<SubmitAnswer, HandedOver['answer']>([
  ['throttle', 'throttled'],
  ['drop', 'cut'],
  ['silent', 'none'],
]);

const numberOf = ({ destination }: ReceivedSubmit) => destination.address.replace(/^\+?/, '+');
/** Number of the part, from the header that the parts of a long text carry. A short text is part 1. */
const partOf = ({ esmClass, octets }: ReceivedSubmit): number =>
  (esmClass & 0x40) === 0 ? 1 : (octets[5] ?? 1);
