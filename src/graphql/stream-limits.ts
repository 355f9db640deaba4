import type { Session } from '../domain/accounts/sessions.ts';
import { DomainError } from '../domain/errors.ts';

const STREAMS_OF_A_SESSION = 20;
const STREAMS_OF_AN_ACCOUNT = 200;
export const STREAMS_OF_A_PROCESS = 1_000;

/**
 * Returns why a session may have no more streams, or reserve no more of them. `others` are the sessions of all streams, a
 * session once for each. All operators together count as one account.
 */
export function refusalOfMore(others: readonly Session[], session: Session): DomainError | undefined {
  const ofSession = others.filter(({ tokenHash }) => tokenHash.equals(session.tokenHash)).length;
  const ofAccount = others.filter(({ caller }) => accountOf(caller) === accountOf(session.caller)).length;
  if (ofSession < STREAMS_OF_A_SESSION && ofAccount < STREAMS_OF_AN_ACCOUNT) return undefined;
  const message =
    `A session may have ${STREAMS_OF_A_SESSION} event streams open, and an account ` +
    `${STREAMS_OF_AN_ACCOUNT}. End one first.`;
  return new DomainError('rate_limit_exceeded', message);
}

function accountOf(caller: Session['caller']): string | undefined {
  return caller.kind === 'member' ? caller.accountId : undefined;
}
