import { setTimeout as sleep } from 'node:timers/promises';
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
import type { LiveKind } from '../domain/ports/changes.ts';
import { outsideReadScopes, ReadScope, withinReadScope } from '../runtime/read-scope.ts';
import { createContext, type GraphqlContext, payerOf } from './context.ts';
import type { PointBudgets } from './cost.ts';
import { earlyRefusal, outageIn } from './error-format.ts';
import type { ResultStream } from './event-stream.ts';
import type { PersistedDocuments } from './persisted-documents.ts';
import { refusalOfMore, STREAMS_OF_A_PROCESS } from './stream-limits.ts';
import { type Asked, readSubscription } from './subscription-request.ts';
import { TimeShare } from './time-share.ts';

/**
 * Share of the process's time that results of subscriptions may use. Without this limit, the subscribers of a busy
 * account would slow down its sends. A subscriber that misses changes because of the limit gets `REFETCH`.
 */
const SHARE_OF_TIME = 0.25;
/**
 * Interval in ms at which the sessions of open streams are checked. So a stream ends at most a second after its
 * session.
 */
const CHECK_SESSIONS_MS = 500;

interface Options {
  readonly schema: GraphQLSchema;
  readonly sessions: Sessions;
  readonly budgets: PointBudgets;
  readonly documents: Pick<PersistedDocuments, 'knows'>;
  /** Converts a result into the form that the caller sees. */
  readonly tell: (result: ExecutionResult, requestId: string) => FormattedExecutionResult;
  /** Returns the refusal for an infrastructure fault. Undefined for any other error. */
  readonly faultOf: (error: unknown) => DomainError | undefined;
  /** Returns the refusal for an error. */
  readonly refusalOf: (error: unknown, requestId: string) => DomainError;
}
type Source = AsyncIterable<Shown<readonly unknown[]>>;

/**
 * Serves subscriptions as long HTTP responses. It does not use the handler of graphql-sse. That handler reads results
 * as fast as they come, and buffers unread results without a limit.
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

  /** Serves a subscription on `stream`. Resolves when the subscription has ended. */
  async serve(stream: ResultStream, parts: GraphqlContext, body: unknown): Promise<void> {
    const reads = new ReadScope(stream.closed, { isSubscription: true });
    await withinReadScope(reads, () => this.#serve(stream, { ...parts, reads, ended: stream.closed }, body));
  }

  /**
   * Registers a stream of a session until the stream is closed. If the session ends, the stream is ended too. Returns a
   * refusal if there are too many streams.
   */
  keep(stream: ResultStream, session: Session): DomainError | undefined {
    const refused = this.#admit(stream, session);
    if (!refused) stream.closed.addEventListener('abort', () => this.#open.delete(stream), { once: true });
    return refused;
  }

  async #serve(stream: ResultStream, parts: GraphqlContext, body: unknown): Promise<void> {
    const { schema, documents, refusalOf, budgets } = this.#options;
    const tell = (result: ExecutionResult) => this.#options.tell(result, parts.requestId);
    try {
      const { bill } = parts;
      const read = readSubscription(schema, body, bill, documents);
      if ('errors' in read) return stream.complete(tell(read));
      const { asked, kinds } = read;
      await bill.charge(budgets, payerOf(parts), parts.isCostOnly);
      if (parts.isCostOnly)
        return stream.complete({ data: null, extensions: { cost: bill.settle(budgets) } });
      const refused = parts.auth.session && this.#admit(stream, parts.auth.session);
      if (refused) return stream.complete(earlyRefusal(refusalOf(refused, parts.requestId)));
      if (kinds) return await this.#serveLive(stream, parts, asked, kinds);
      const fresh = () => createContext(parts);
      const source = await createSourceEventStream({ ...asked, contextValue: fresh() });
      if (stream.closed.aborted) return;
      if ('errors' in source) return stream.complete(tell(source));
      stream.open();
      const show = (objects: readonly unknown[]) => {
        // Make a new context for each read, because its loaders cache what they have read.
        const contextValue = fresh();
        return this.#showing.run(() =>
          Promise.all(objects.map((rootValue) => execute({ ...asked, rootValue, contextValue }))),
        );
      };
      for await (const shown of source as Source) {
        const objects = shown === REFETCH ? [REFETCH] : shown;
        for (const [index, result] of (await show(objects)).entries()) {
          // Several objects together may exceed the limit on lists. If they do, read each object alone.
          const isAlone = objects.length === 1 || !isOverLimit(result);
          const [told = result] = isAlone ? [] : await show([objects[index]]);
          // The client disconnected, which aborted the read. Do not log that as a fault.
          if (stream.closed.aborted) return;
          await stream.next(tell(told));
        }
      }
      stream.complete();
    } catch (error) {
      // The client disconnected, which caused the error. Do not log that as a fault.
      if (stream.closed.aborted) return;
      const refused = refusalOf(error, parts.requestId);
      if (refused.code === 'service_unavailable') stream.breakOff();
      else stream.complete(earlyRefusal(refused));
    } finally {
      this.#open.delete(stream);
    }
  }

  /** Runs a query at once, and after each change of these kinds. Sends its results that differ from the one before. */
  async #serveLive(
    stream: ResultStream,
    parts: GraphqlContext,
    asked: Asked,
    kinds: readonly LiveKind[],
  ): Promise<void> {
    const { budgets, tell, faultOf } = this.#options;
    const commits = await parts.run(parts.operations.live.commits, { kinds, signal: stream.closed });
    stream.open();
    let paid: GraphqlContext | undefined = parts;
    let last: string | undefined;
    for await (const _ of commits) {
      const contextValue: GraphqlContext = paid ?? (await this.#pay(stream, parts));
      paid = undefined;
      const result = await this.#showing.run(async () => execute({ ...asked, contextValue }));
      const cost = contextValue.bill.settle(budgets);
      // The client disconnected, which aborted the read. Do not log that as a fault.
      if (stream.closed.aborted) return;
      const outage = outageIn(result.errors ?? [], faultOf);
      if (outage) throw outage;
      const told = tell(result, parts.requestId);
      const content = JSON.stringify([told.data, told.errors]);
      if (content !== last) await stream.next({ ...told, extensions: { cost } });
      last = content;
    }
    stream.complete();
  }

  /** Returns a context for another run that is paid from the budget. Waits while the budget has too few points. */
  async #pay(stream: ResultStream, parts: GraphqlContext): Promise<GraphqlContext> {
    for (;;) {
      const context = createContext(parts);
      context.bill.requested = parts.bill.requested;
      context.bill.certain = parts.bill.certain;
      try {
        await context.bill.charge(this.#options.budgets, payerOf(parts), false);
        return context;
      } catch (error) {
        if (!(error instanceof DomainError) || error.code !== 'rate_limit_exceeded') throw error;
        const seconds = error.retryAfterSeconds ?? 1;
        await sleep(seconds * 1_000, undefined, { signal: stream.closed, ref: false });
      }
    }
  }

  /** Ends all streams, so that the clients connect to another process. */
  drain(): void {
    this.#isDraining = true;
    clearTimeout(this.#timer);
    for (const stream of this.#open.keys()) stream.breakOff();
  }

  /** Registers a stream, or returns the reason why it is refused. */
  #admit(stream: ResultStream, session: Session): DomainError | undefined {
    if (this.#isDraining || this.#open.size >= STREAMS_OF_A_PROCESS) {
      return serviceUnavailable('This process serves no more event streams. Try again.');
    }
    const refused = refusalOfMore([...this.#open.values()], session);
    if (refused) return refused;
    this.#open.set(stream, session);
    this.#timer ??= this.#startTimer();
    return undefined;
  }

  /** Ends the streams whose session has ended or now belongs to another person. */
  async #checkSessions(): Promise<void> {
    try {
      const refusals = await this.#options.sessions.refusals([...new Set(this.#open.values())]);
      // Go in reverse order: the operations of a shared stream must send their refusal before the stream itself ends.
      for (const [stream, session] of [...this.#open].reverse()) {
        const refused = refusals.get(session);
        if (refused) stream.complete(earlyRefusal(refused));
      }
    } catch {
      // The database cannot be reached, so it is unknown which sessions have ended. Leave the streams open until the
      // next check. They send nothing meanwhile.
    }
    const isNeeded = this.#open.size > 0 && !this.#isDraining;
    this.#timer = isNeeded ? this.#startTimer() : undefined;
  }

  /**
   * Starts the timer of the next check. The check serves all streams. If it ran in the read scope of one stream, the
   * end of that stream would abort it.
   */
  #startTimer(): NodeJS.Timeout {
    return outsideReadScopes(() => setTimeout(() => void this.#checkSessions(), CHECK_SESSIONS_MS));
  }
}

function isOverLimit({ errors }: ExecutionResult): boolean {
  return errors?.some(({ extensions }) => extensions.limit !== undefined) ?? false;
}
