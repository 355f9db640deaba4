import type { Budgets, Payer } from '../domain/accounts/budgets.ts';
import type { Client, Session, Sessions, SignedIn } from '../domain/accounts/sessions.ts';
import type { Caller } from '../domain/caller.ts';
import type { DryRun, DryRuns } from '../domain/dry-run.ts';
import { unauthorized } from '../domain/errors.ts';
import { shownClient } from '../domain/ip-network.ts';
import type { Operation } from '../domain/operation.ts';
import type { Operations } from '../domain/operations.ts';
import { deviceOf } from '../domain/people/device.ts';
import type { PasswordLinks } from '../domain/people/password-links.ts';
import type { SingleSignOnSignIn } from '../domain/people/single-sign-on-sign-in.ts';
import type { ReadScope } from '../runtime/read-scope.ts';
import { Bill } from './cost.ts';
import { ListAllowance } from './list-bound.ts';
import { createLoaders, type Run } from './loaders.ts';

/** The context that every resolver gets. */
export interface GraphqlContext {
  readonly requestId: string;
  /** The client: its IP address (`clientOf`), its `User-Agent` and its device cookie. */
  readonly client: Client;
  readonly operations: Operations;
  readonly sessions: Sessions;
  readonly passwordLinks: PasswordLinks;
  readonly singleSignOn: SingleSignOnSignIn;
  readonly dryRuns: Pick<DryRuns, 'open'>;
  /**
   * The session of the request. Apollo copies the context. The session is inside an object, so that all copies see a
   * new session. `mayEnter` is true if the session of a sign-in applies to the rest of the same request.
   */
  readonly auth: { session: Session | undefined; mayEnter: boolean };
  /** Aborts when the client has disconnected. */
  readonly ended: AbortSignal;
  /** The scope in which the operation reads the database. */
  readonly reads: ReadScope;
  /** True if the client asks only for the cost of the operation. Then the operation does not run. */
  readonly isCostOnly: boolean;
  readonly budgets: Pick<Budgets, 'pointsPerMinute' | 'requestsPerMinute'>;
  /** Counts what the operation costs. */
  readonly bill: Bill;
  readonly run: Run;
  readonly loaders: Loaders;
  readonly dryRun: RequestDryRun;
  /** Limits the total length of the lists in the response. */
  readonly allowance: ListAllowance;
  /** The contexts in which an operator reads an account, by the response key of the root field. */
  readonly inspections: Map<string | number, GraphqlContext>;
  /** The cookie of a browser that has begun a single sign-on. */
  readonly singleSignOnCookie: {
    readonly value: string | undefined;
    /** Sets the cookie. Clears it if `token` is undefined. */
    set(token: string | undefined): void;
  };
  /** Sets the session cookie of the browser. Clears it if `signedIn` is undefined. */
  setCookie(signedIn: Pick<SignedIn, 'token' | 'expiresAt'> | undefined): void;
}

type Loaders = ReturnType<typeof createLoaders>;

/**
 * The dry run of a request. After `begin`, operations and loaders of this request change nothing permanently (R273).
 */
export class RequestDryRun {
  readonly #dryRuns: Pick<DryRuns, 'open'>;
  readonly #loadersFor: () => Loaders;
  #open: DryRun | undefined;
  #loaders: Loaders;

  constructor(dryRuns: Pick<DryRuns, 'open'>, loadersFor: () => Loaders) {
    this.#dryRuns = dryRuns;
    this.#loadersFor = loadersFor;
    this.#loaders = loadersFor();
  }

  get isOpen(): boolean {
    return this.#open !== undefined;
  }

  get loaders(): Loaders {
    return this.#loaders;
  }

  /** Returns the operation to run: in a dry run, a variant whose changes are rolled back. */
  of<Input, Output>(operation: Operation<Input, Output>): Operation<Input, Output> {
    return this.#open?.of(operation) ?? operation;
  }

  /**
   * Starts the dry run of `holder`, an account or an operator. It may hold locks for `maxMs`. Throws
   * `service_unavailable` if too many dry runs are open.
   */
  async begin(holder: string, maxMs: number): Promise<void> {
    this.#open = await this.#dryRuns.open(holder, maxMs);
    // Use new loaders: the dry run may change objects that the request has loaded before.
    this.#loaders = this.#loadersFor();
  }

  /** Rolls back the changes of the dry run. Call it after the answer, when nothing of the request runs any more. */
  async end(): Promise<void> {
    await this.#open?.end();
  }
}

/** Makes the context of one request. Without a session, every operation is refused as `unauthorized`. */
export function createContext(
  parts: Omit<GraphqlContext, 'run' | 'loaders' | 'allowance' | 'inspections' | 'dryRun' | 'bill'>,
): GraphqlContext {
  const allowance = new ListAllowance();
  const run: Run = async (operation, input) => dryRun.of(operation).run(callerOf(parts), input);
  const dryRun = new RequestDryRun(parts.dryRuns, () => createLoaders(run, parts.operations, allowance));
  // Apollo copies the context. Through the proxy, each copy uses the loaders that are valid at the time of the call.
  const loaders = new Proxy(dryRun.loaders, {
    get: (_first, name) => dryRun.loaders[name as keyof Loaders],
  });
  return { ...parts, run, allowance, bill: new Bill(), inspections: new Map(), dryRun, loaders };
}

/** Makes the context in which an operator reads an account. The first read is recorded in the audit log (R290). */
export function inspectingContext(
  context: GraphqlContext,
  input: { readonly accountId: string; readonly reason?: string | undefined },
): GraphqlContext {
  const { operations, allowance } = context;
  let caller: Promise<Caller> | undefined;
  const run: Run = async (operation, given) => {
    caller ??= operations.accounts.inspect.run(callerOf(context), input);
    return operation.run(await caller, given);
  };
  return { ...context, run, loaders: createLoaders(run, operations, allowance) };
}

/** Returns the caller of the request, with the device and the IP address for the audit log. */
function callerOf({ auth, client }: Pick<GraphqlContext, 'auth' | 'client'>): Caller {
  const from = { address: shownClient(client.address), device: deviceOf(client.userAgent) };
  return { ...sessionOf({ auth }).caller, from };
}

/** Returns whose budget pays for the request. */
export function payerOf({ auth, client }: Pick<GraphqlContext, 'auth' | 'client'>): Payer {
  return { session: auth.session, client: client.address };
}

/** Returns the session of the request. Throws `unauthorized` if there is none. */
export function sessionOf({ auth }: Pick<GraphqlContext, 'auth'>): Session {
  if (!auth.session) throw unauthorized('Sign in, and send the session token as a bearer token.');
  return auth.session;
}
