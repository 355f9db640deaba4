import type { Budgets } from '../domain/accounts/budgets.ts';
import type { Client, Session, Sessions, SignedIn } from '../domain/accounts/sessions.ts';
import type { Caller } from '../domain/caller.ts';
import type { DryRun, DryRuns } from '../domain/dry-run.ts';
import { unauthorized } from '../domain/errors.ts';
import { shownClient } from '../domain/ip-network.ts';
import type { Operation } from '../domain/operation.ts';
import type { Operations } from '../domain/operations.ts';
import { deviceOf } from '../domain/people/device.ts';
import type { PasswordLinks } from '../domain/people/password-links.ts';
import type { ReadScope } from '../runtime/read-scope.ts';
import { Bill } from './cost.ts';
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
  readonly dryRuns: Pick<DryRuns, 'open'>;
  /** The session; undefined without one. An object of its own, because Apollo copies the context. */
  readonly auth: { session: Session | undefined };
  /** Aborts when the client no longer waits. */
  readonly ended: AbortSignal;
  /** Where the reads of the operation go. */
  readonly reads: ReadScope;
  /** True if the caller asks what an operation costs, without running it. */
  readonly isCostOnly: boolean;
  readonly budgets: Pick<Budgets, 'pointsPerMinute' | 'requestsPerMinute'>;
  /** What the operation costs. */
  readonly bill: Bill;
  readonly run: Run;
  readonly loaders: Loaders;
  readonly dryRun: RequestDryRun;
  /** Bounds the lists of the response. */
  readonly allowance: ListAllowance;
  /** Contexts in which an operator reads accounts, by the name of their root field in the answer. */
  readonly inspections: Map<string | number, GraphqlContext>;
  /** Sets the session cookie of the browser, or clears it. */
  setCookie(signedIn: Pick<SignedIn, 'token' | 'expiresAt'> | undefined): void;
}

type Loaders = ReturnType<typeof createLoaders>;

/** The dry run of a request, if it has one: from its beginning on, operations and loaders have no effect (R273). */
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

  /** The operation, without effect in a dry run. */
  of<Input, Output>(operation: Operation<Input, Output>): Operation<Input, Output> {
    return this.#open?.of(operation) ?? operation;
  }

  /** Throws `service_unavailable` when too many dry runs are open. */
  async begin(): Promise<void> {
    this.#open = await this.#dryRuns.open();
    // What the request has loaded before may be changed here.
    this.#loaders = this.#loadersFor();
  }

  /** Rolls back. The request has been answered: nothing of it runs later. */
  async end(): Promise<void> {
    await this.#open?.end();
  }
}

/** The context of one request. Without a session every operation is refused as `unauthorized`. */
export function createContext(
  parts: Omit<GraphqlContext, 'run' | 'loaders' | 'allowance' | 'inspections' | 'dryRun' | 'bill'>,
): GraphqlContext {
  const allowance = new ListAllowance();
  const run: Run = async (operation, input) => dryRun.of(operation).run(callerOf(parts), input);
  const dryRun = new RequestDryRun(parts.dryRuns, () => createLoaders(run, parts.operations, allowance));
  // Apollo copies the context, and with it the value of a property.
  const loaders = new Proxy(dryRun.loaders, {
    get: (_first, name) => dryRun.loaders[name as keyof Loaders],
  });
  return { ...parts, run, allowance, bill: new Bill(), inspections: new Map(), dryRun, loaders };
}

/** The context in which an operator reads an account. The first read is recorded in the audit log (R290). */
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

/** The person of the request, with the device and address for the audit log. */
function callerOf({ auth, client }: Pick<GraphqlContext, 'auth' | 'client'>): Caller {
  const from = { address: shownClient(client.address), device: deviceOf(client.userAgent) };
  return { ...sessionOf({ auth }).caller, from };
}

/** The session of the request; throws `unauthorized` when there is none. */
export function sessionOf({ auth }: Pick<GraphqlContext, 'auth'>): Session {
  if (!auth.session) throw unauthorized('Sign in, and send the session token as a bearer token.');
  return auth.session;
}
