import type { Client, Session, Sessions, SignedIn } from '../domain/accounts/sessions.ts';
import type { Caller } from '../domain/caller.ts';
import { unauthorized } from '../domain/errors.ts';
import type { Operations } from '../domain/operations.ts';
import type { PasswordLinks } from '../domain/people/password-links.ts';
import { ListAllowance } from './list-bound.ts';
import { createLoaders, type Run } from './loaders.ts';

/** What every resolver gets: the caller and the operations. */
export interface GraphqlContext {
  readonly requestId: string;
  /** The client with its address (`clientOf`), `User-Agent` and device cookie. */
  readonly client: Client;
  readonly operations: Operations;
  readonly sessions: Sessions;
  readonly passwordLinks: PasswordLinks;
  /** The session; undefined without one. An object of its own, because Apollo copies the context. */
  readonly auth: { session: Session | undefined };
  /** Aborts when the client no longer waits. */
  readonly ended: AbortSignal;
  readonly run: Run;
  readonly loaders: ReturnType<typeof createLoaders>;
  /** Bounds the lists of the response. */
  readonly allowance: ListAllowance;
  /** Contexts in which an operator reads accounts, by the name of their root field in the answer. */
  readonly inspections: Map<string | number, GraphqlContext>;
  /** Sets the session cookie of the browser, or clears it. */
  setCookie(signedIn: Pick<SignedIn, 'token' | 'expiresAt'> | undefined): void;
}

/** The context of one request. Without a session every operation is refused as `unauthorized`. */
export function createContext(
  parts: Omit<GraphqlContext, 'run' | 'loaders' | 'allowance' | 'inspections'>,
): GraphqlContext {
  const run: Run = async (operation, input) => operation.run(sessionOf(parts).caller, input);
  const allowance = new ListAllowance();
  const loaders = createLoaders(run, parts.operations, allowance);
  return { ...parts, run, allowance, inspections: new Map(), loaders };
}

/** The context in which an operator reads an account. The first read is recorded in the audit log (R290). */
export function inspectingContext(
  context: GraphqlContext,
  input: { readonly accountId: string; readonly reason?: string | undefined },
): GraphqlContext {
  const { operations, allowance } = context;
  let caller: Promise<Caller> | undefined;
  const run: Run = async (operation, given) => {
    caller ??= operations.accounts.inspect.run(sessionOf(context).caller, input);
    return operation.run(await caller, given);
  };
  return { ...context, run, loaders: createLoaders(run, operations, allowance) };
}

/** The session of the request; throws `unauthorized` when there is none. */
export function sessionOf({ auth }: Pick<GraphqlContext, 'auth'>): Session {
  if (!auth.session) throw unauthorized('Sign in, and send the session token as a bearer token.');
  return auth.session;
}
