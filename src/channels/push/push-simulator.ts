import {
  type Provider,
  type ProviderHealth,
  type ProviderOutcome,
  type PushSubmission,
  UNREGISTERED,
} from '../../domain/ports/provider.ts';
import { unasked, unavailable } from './push-outcomes.ts';

const TEMPORARY_FAILURES = 2;

/**
 * Simulates a push platform inside this process. The last four characters of the device's token choose the outcome.
 * `0001` is rejected. `0002` is unregistered. `0003` fails twice and is then accepted. Everything else is accepted.
 */
export class PushSimulator implements Provider<PushSubmission> {
  readonly name = 'push-simulator';
  #isStopped = false;

  start(): void {}

  async submit(
    { target, attempt, messageId, position }: PushSubmission,
    signal: AbortSignal,
  ): Promise<ProviderOutcome> {
    if (signal.aborted || this.#isStopped) return unasked('the gateway is stopping');
    switch (target.token.slice(-4)) {
      case '0001':
        return {
          kind: 'rejected',
          asked: true,
          code: 'SIM_REJECTED',
          reason: 'The simulator rejects tokens ending in 0001.',
        };
      case '0002':
        return {
          kind: 'rejected',
          asked: true,
          code: UNREGISTERED,
          reason: 'The simulator knows no tokens ending in 0002.',
        };
      case '0003':
        if (attempt < TEMPORARY_FAILURES) {
          const reason = 'the simulator fails twice for tokens ending in 0003';
          return { ...unavailable(reason, true), onlyThis: true };
        }
    }
    return { kind: 'accepted', sid: `sim-${messageId}-${position}` };
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
  }

  health(): ProviderHealth {
    return { name: this.name, state: 'up', inFlight: 0 };
  }
}
