import type {
  EmailSubmission,
  Provider,
  ProviderHealth,
  ProviderOutcome,
} from '../../domain/ports/provider.ts';

const TEMPORARY_FAILURES = 2;

/**
 * Simulates a mail server inside this process, so that everything works without configuration. No mail is sent. The
 * last characters before the @ choose the outcome, like the last digits of a number for SMS. `0001` is rejected. `0003`
 * fails twice and is then accepted. Everything else is accepted.
 */
export class EmailSimulator implements Provider<EmailSubmission> {
  readonly name = 'email-simulator';

  #isStopped = false;

  start(): void {}

  async submit(submission: EmailSubmission, signal: AbortSignal): Promise<ProviderOutcome> {
    if (this.#isStopped || signal.aborted) {
      return {
        kind: 'unavailable',
        asked: false,
        reason: 'the simulator is being stopped',
        definitelyNotSent: true,
      };
    }
    const ending = submission.to.slice(0, submission.to.lastIndexOf('@')).slice(-4);
    if (ending === '0001') {
      const reason = 'The simulator rejects addresses whose local part ends in 0001.';
      return { kind: 'rejected', asked: true, code: 'SIM_REJECTED', reason };
    }
    if (ending === '0003' && submission.attempt < TEMPORARY_FAILURES) {
      const reason = 'the simulator defers local parts ending in 0003 twice';
      return { kind: 'unavailable', asked: true, reason, definitelyNotSent: true, onlyThis: true };
    }
    return {
      kind: 'accepted',
      sid: `<sim-${submission.messageId}-${submission.position}@simulator.invalid>`,
    };
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
  }

  health(): ProviderHealth {
    return { name: this.name, state: 'up', inFlight: 0 };
  }
}
