import type { Session, Sessions, SignedIn } from '../domain/accounts/sessions.ts';
import { unauthorized } from '../domain/errors.ts';
import type { Operations } from '../domain/operations.ts';
import { ListAllowance } from './list-bound.ts';
import { createLoaders, type Run } from './loaders.ts';

/** What every resolver is handed: who asks, and all that can be done. */
export interface GraphqlContext {
  readonly requestId: string;
  /** Who asks, as far as the address tells (`clientOf`). */
  readonly client: string;
  readonly operations: Operations;
  readonly sessions: Sessions;
  /** Its session is undefined until somebody has signed in. An object of its own, since Apollo copies the context. */
  readonly auth: { session: Session | undefined };
  /** Aborts when nobody waits for what was asked any more. */
  readonly ended: AbortSignal;
  readonly run: Run;
  readonly loaders: ReturnType<typeof createLoaders>;
  /** How much the lists of the answer may hold. */
  readonly allowance: ListAllowance;
  /** Hands the browser a session's token, or takes it back. */
  setCookie(signedIn: Pick<SignedIn, 'token' | 'expiresAt'> | undefined): void;
}

/** The context of one request. Without a session every operation is refused as `unauthorized`. */
export function createContext(parts: Omit<GraphqlContext, 'run' | 'loaders' | 'allowance'>): GraphqlContext {
  const run: Run = async (operation, input) => operation.run(sessionOf(parts).caller, input);
  const allowance = new ListAllowance();
  return { ...parts, run, allowance, loaders: createLoaders(run, parts.operations, allowance) };
}

/** The session of the request; throws `unauthorized` when there is none. */
export function sessionOf({ auth }: Pick<GraphqlContext, 'auth'>): Session {
  if (!auth.session) throw unauthorized('Sign in, and send the session token as a bearer token.');
  return auth.session;
}
