import type { ServerResponse } from 'node:http';
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
import { createContext, type GraphqlContext } from './context.ts';
import { earlyRefusal } from './error-format.ts';
import { EventStream, type Framing } from './event-stream.ts';
import { readSubscription } from './subscription-request.ts';
import { TimeShare } from './time-share.ts';

const STREAMS_OF_A_SESSION = 20;
const STREAMS_OF_AN_ACCOUNT = 200;
const STREAMS_OF_A_PROCESS = 1_000;
/** Many who watch a busy account must not keep it from sending: what they are not shown in time they read anew. */
const SHARE_OF_TIME = 0.25;
/** A session that ended is known of within a second. */
const CHECK_SESSIONS_MS = 500;

interface Options {
  readonly schema: GraphQLSchema;
  readonly sessions: Sessions;
  /** A result as the caller reads it. */
  readonly tell: (result: ExecutionResult, requestId: string) => FormattedExecutionResult;
  /** What an error is to the caller. */
  readonly refusalOf: (error: unknown, requestId: string) => DomainError;
}
type Source = AsyncIterable<Shown<readonly unknown[]>>;

/**
 * Subscriptions, each an answer that goes on. graphql-sse's own handler is not used: it takes results off their
 * source as fast as they come and keeps what the socket does not take, without end.
 */
export class EventStreams {
  readonly #options: Options;
  readonly #open = new Map<EventStream, Session>();
  readonly #showing = new TimeShare(SHARE_OF_TIME);
  #timer: NodeJS.Timeout | undefined;
  #isDraining = false;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Answers a request for a subscription; resolves when the stream has ended. */
  async serve(
    response: ServerResponse,
    parts: GraphqlContext,
    body: unknown,
    framing: Framing,
  ): Promise<void> {
    const stream = new EventStream(response, framing);
    const { schema, refusalOf } = this.#options;
    const tell = (result: ExecutionResult) => this.#options.tell(result, parts.requestId);
    try {
      const asked = readSubscription(schema, body);
      if ('errors' in asked) return stream.complete(tell(asked));
      const refused = parts.auth.session && this.#admit(stream, parts.auth.session);
      if (refused) return stream.complete(earlyRefusal(refusalOf(refused, parts.requestId)).body);
      const fresh = () => createContext({ ...parts, ended: stream.closed });
      const source = await createSourceEventStream({ ...asked, contextValue: fresh() });
      if ('errors' in source) return stream.complete(tell(source));
      stream.open();
      const show = (objects: readonly unknown[]) => {
        // A context for each reading, since what loaders have loaded stays in them.
        const contextValue = fresh();
        return this.#showing.run(() =>
          Promise.all(objects.map((rootValue) => execute({ ...asked, rootValue, contextValue }))),
        );
      };
      for await (const shown of source as Source) {
        const objects = shown === REFETCH ? [REFETCH] : shown;
        for (const [index, result] of (await show(objects)).entries()) {
          // What is too much for the lists of all together may be little enough by itself.
          const isAlone = objects.length === 1 || !isOverLimit(result);
          const [told = result] = isAlone ? [] : await show([objects[index]]);
          await stream.next(tell(told));
        }
      }
      stream.complete();
    } catch (error) {
      const refused = refusalOf(error, parts.requestId);
      if (refused.code === 'service_unavailable') stream.breakOff();
      else stream.complete(earlyRefusal(refused).body);
    } finally {
      this.#open.delete(stream);
    }
  }

  /** Ends all streams, for their readers to ask another process. */
  drain(): void {
    this.#isDraining = true;
    clearTimeout(this.#timer);
    for (const stream of this.#open.keys()) stream.breakOff();
  }

  /** Takes a stream in, or says why not. */
  #admit(stream: EventStream, session: Session): DomainError | undefined {
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

  /** Ends the streams of sessions that have ended or stand for somebody else by now. */
  async #checkSessions(): Promise<void> {
    try {
      const refusals = await this.#options.sessions.refusals([...new Set(this.#open.values())]);
      for (const [stream, session] of this.#open) {
        const refused = refusals.get(session);
        if (refused) stream.complete(earlyRefusal(refused).body);
      }
    } catch {
      // Without a database nothing can be shown either; the next look tells.
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
