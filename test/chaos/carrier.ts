/** The carrier of a run: an SMSC that misbehaves as it is told, and remembers what it took and reported. */
import { type Smsc, type SubmitAnswer, startSmsc } from '../support/smsc.ts';
import type { ReceivedSubmit, ReportPlan } from '../support/smsc-pdus.ts';
import type { HandedOver } from './judge.ts';
import type { Random } from './random.ts';
import type { Disorder } from './schedule.ts';

type Misbehaviour = Extract<Disorder, { kind: 'carrier' }>['how'];

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
    const smsc = await startSmsc();
    const carrier = new Carrier(smsc, random);
    const plans = new Map<string, ReportPlan | undefined>();
    smsc.behave({
      answer: (submit) => {
        const answer = carrier.#answerTo();
        const isTaken = answer === 'accept' || answer === 'late';
        const plan = isTaken ? carrier.#reportOn() : undefined;
        plans.set(key(submit), plan);
        carrier.handedOver.push({
          to: submit.destination.address.replace(/^\+?/, '+'),
          answer: isTaken
            ? 'accepted'
            : answer === 'throttle'
              ? 'refused'
              : answer === 'drop'
                ? 'cut'
                : 'none',
          report: plan?.stat as HandedOver['report'],
        });
        return answer;
      },
      reports: (submit) => plans.get(key(submit)),
    });
    return carrier;
  }

  misbehave(how: Misbehaviour): void {
    this.#how = how;
    if (how === 'reversed') this.smsc.behave({ answersReversedBy: 4 });
  }

  behave(): void {
    this.#how = undefined;
    this.smsc.behave({ answersReversedBy: 1 });
    this.smsc.answerLate();
  }

  #answerTo(): SubmitAnswer {
    switch (this.#how) {
      case 'late':
      case 'silent':
      case 'throttle':
      case 'drop':
        return this.#random.chance(0.5) ? this.#how : 'accept';
      default:
        return 'accept';
    }
  }

  #reportOn(): ReportPlan | undefined {
    if (this.#random.chance(0.2)) return undefined;
    return {
      form: this.#random.pick(['text', 'payload', 'tlv'] as const),
      stat: this.#random.chance(0.85) ? 'DELIVRD' : 'UNDELIV',
      when: this.#random.chance(0.3) ? 'before' : 'after',
      delayMs: this.#random.chance(0.5) ? 0 : this.#random.between(1, 1_500),
    };
  }
}

const key = ({ index }: ReceivedSubmit) => String(index);
