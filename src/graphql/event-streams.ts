import {
  createSourceEventStream,
  type ExecutionResult,
  execute,
  type FormattedExecutionResult,
  type GraphQLSchema,
} from 'graphql';
import type { Session, Sessions } from '../domain/accounts/sessions.ts';
import { DomainError, serviceUnavailable } from '../domain/errors.ts';
import { REFETCH, type Shown } from '../domain/live/watch.ts';
import { ReadScope, withinReadScope } from '../runtime/read-scope.ts';
import { createContext, type GraphqlContext } from './context.ts';
import type { PointBudgets } from './cost.ts';
import { earlyRefusal } from './error-format.ts';
import type { ResultStream } from './event-stream.ts';
import { readSubscription } from './subscription-request.ts';
import { TimeShare } from './time-share.ts';

const STREAMS_OF_A_SESSION = 20;
const STREAMS_OF_AN_ACCOUNT = 200;
const STREAMS_OF_A_PROCESS = 1_000;
/** Subscribers of a busy account must not slow its sends. A reader that misses changes reads everything again. */
const SHARE_OF_TIME = 0.25;
/** Ended sessions are found within a second. */
const CHECK_SESSIONS_MS = 500;

interface Options {
  readonly schema: GraphQLSchema;
  readonly sessions: Sessions;
  readonly budgets: PointBudgets;
  /** A result in the form for the caller. */
  readonly tell: (result: ExecutionResult, requestId: string) => FormattedExecutionResult;
  /** The refusal behind an error. */
  readonly refusalOf: (error: unknown, requestId: string) => DomainError;
}
type Source = AsyncIterable<Shown<readonly unknown[]>>;

/**
 * Subscriptions as long responses. graphql-sse's own handler is not used: it reads results from their source as fast as
 * they come, and buffers without limit what the socket does not accept.
 */
export class EventStreams {
  readonly #options: Options;
  readonly #open = new Map<ResultStream, Session>();
  readonly #showing = new TimeShare(SHARE_OF_TIME);
  #timer: NodeJS.Timeout | undefined;
  #isDraining = false;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Serves a subscription on `stream`. Resolves when it has ended. */
  async serve(stream: ResultStream, parts: GraphqlContext, body: unknown): Promise<void> {
    const reads = new ReadScope(stream.closed, true);
    await withinReadScope(reads, () => this.#serve(stream, { ...parts, reads, ended: stream.closed }, body));
  }

  /**
   * Counts a stream of a session, and ends it with the session, until it is closed. Returns the refusal if there are too
   * many.
   */
  keep(stream: ResultStream, session: Session): DomainError | undefined {
    const refused = this.#admit(stream, session);
    if (!refused) stream.closed.addEventListener('abort', () => this.#open.delete(stream), { once: true });
    return refused;
  }

  async #serve(stream: ResultStream, parts: GraphqlContext, body: unknown): Promise<void> {
    const { schema, refusalOf, budgets } = this.#options;
    const tell = (result: ExecutionResult) => this.#options.tell(result, parts.requestId);
    try {
      const { bill } = parts;
      const asked = readSubscription(schema, body, bill);
      if ('errors' in asked) return stream.complete(tell(asked));
      await bill.charge(
        budgets,
        { session: parts.auth.session, client: parts.client.address },
        parts.isCostOnly,
      );
      if (parts.isCostOnly)
        return stream.complete({ data: null, extensions: { cost: bill.settle(budgets) } });
      const refused = parts.auth.session && this.#admit(stream, parts.auth.session);
      if (refused) return stream.complete(earlyRefusal(refusalOf(refused, parts.requestId)));
      const fresh = () => createContext(parts);
      const source = await createSourceEventStream({ ...asked, contextValue: fresh() });
      if (stream.closed.aborted) return;
      if ('errors' in source) return stream.complete(tell(source));
      stream.open();
      const show = (objects: readonly unknown[]) => {
        // A new context for each read, because loaders cache.
        const contextValue = fresh();
        return this.#showing.run(() =>
          Promise.all(objects.map((rootValue) => execute({ ...asked, rootValue, contextValue }))),
        );
      };
      for await (const shown of source as Source) {
        const objects = shown === REFETCH ? [REFETCH] : shown;
        for (const [index, result] of (await show(objects)).entries()) {
          // Objects that exceed the list limits together may fit alone.
          const isAlone = objects.length === 1 || !isOverLimit(result);
          const [told = result] = isAlone ? [] : await show([objects[index]]);
          // A read that was cancelled is no fault.
          if (stream.closed.aborted) return;
          await stream.next(tell(told));
        }
      }
      stream.complete();
    } catch (error) {
      // What was cancelled is no fault.
      if (stream.closed.aborted) return;
      const refused = refusalOf(error, parts.requestId);
      if (refused.code === 'service_unavailable') stream.breakOff();
      else stream.complete(earlyRefusal(refused));
    } finally {
      this.#open.delete(stream);
    }
  }

  /** Ends all streams, so that their clients connect to another process. */
  drain(): void {
    this.#isDraining = true;
    clearTimeout(this.#timer);
    for (const stream of this.#open.keys()) stream.breakOff();
  }

  /** Adds a stream, or returns the refusal. */
  #admit(stream: ResultStream, session: Session): DomainError | undefined {
    if (this.#isDraining || this.#open.size >= STREAMS_OF_A_PROCESS) {
      return serviceUnavailable('This process serves no more event streams. Try again.');
    }
    const sessions = [...this.#open.values()];
    const ofSession = sessions.filter(({ tokenHash }) => tokenHash.equals(session.tokenHash)).length;
    const ofAccount = sessions.filter(({ caller }) => accountOf(caller) === accountOf(session.caller)).length;
    if (ofSession >= STREAMS_OF_A_SESSION || ofAccount >= STREAMS_OF_AN_ACCOUNT) {
      const message =
        `A session may have ${STREAMS_OF_A_SESSION} event streams open, and an account ` +
        `${STREAMS_OF_AN_ACCOUNT}. End one first.`;
      return new DomainError('rate_limit_exceeded', message);
    }
    this.#open.set(stream, session);
    this.#timer ??= setTimeout(() => void this.#checkSessions(), CHECK_SESSIONS_MS);
    return undefined;
  }

  /** Ends the streams of sessions that ended or belong to another person now. */
  async #checkSessions(): Promise<void> {
    try {
      const refusals = await this.#options.sessions.refusals([...new Set(this.#open.values())]);
      // The operations of a shared stream tell their client before the stream ends.
      for (const [stream, session] of [...this.#open].reverse()) {
        const refused = refusals.get(session);
        if (refused) stream.complete(earlyRefusal(refused));
      }
    } catch {
      // Without the database nothing can be read either; the next check decides.
    }
    const isNeeded = this.#open.size > 0 && !this.#isDraining;
    this.#timer = isNeeded ? setTimeout(() => void this.#checkSessions(), CHECK_SESSIONS_MS) : undefined;
  }
}

function isOverLimit({ errors }: ExecutionResult): boolean {
  return errors?.some(({ extensions }) => extensions.limit !== undefined) ?? false;
}

function accountOf(caller: Session['caller']): string | undefined {
  return caller.kind === 'member' ? caller.accountId : undefined;
}
