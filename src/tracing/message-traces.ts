/**
 * Sends traces of messages by OTLP over HTTP. Loaded only if OTEL_EXPORTER_OTLP_ENDPOINT is set.
 *
 * A message's **trace id** is its id: a UUID has the 16 bytes of a trace id. So the processes that accept, submit,
 * report and deliver know the trace without passing anything on (ADR-0025). Its **root span** has the second half of
 * the id. A request with a header `traceparent` keeps its own trace, and the root span links to it.
 */
import { createHash } from 'node:crypto';
import {
  type Attributes,
  isSpanContextValid,
  type Link,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, type IdGenerator, TracerProvider } from '@opentelemetry/sdk-trace';
import type {
  AcceptedMessage,
  MeasuredAttempt,
  MeasuredMove,
  MeasuredSubmission,
} from '../domain/ports/measurements.ts';
import type { Tracing } from '../domain/ports/tracing.ts';
import { presentRequest } from '../runtime/request-scope.ts';

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;
/** Whether a message is traced is decided by the last hex digits of its id, which are random. This is their number. */
const SAMPLE_DIGITS = 8;
const SAMPLES = 16 ** SAMPLE_DIGITS;

export interface TracingOptions {
  /** Base address of the collector, without a slash at its end. */
  readonly endpoint: string;
  /** Fraction of the messages that is traced, from 0 to 1. */
  readonly share: number;
  readonly serviceName: string;
  readonly now: () => Date;
}

interface SpanFacts {
  readonly messageId: string;
  /** Name of the span within the message. The span's id is made from it, so the same key gives the same id. */
  readonly key: string;
  readonly name: string;
  readonly kind: SpanKind;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly attributes: Attributes;
  readonly error?: string | undefined;
}

/** Gives each new span the ids that were set before. */
class GivenIds implements IdGenerator {
  traceId = '';
  spanId = '';

  generateTraceId(): string {
    return this.traceId;
  }

  generateSpanId(): string {
    return this.spanId;
  }
}

export class MessageTraces implements Tracing {
  readonly #ids = new GivenIds();
  readonly #provider: TracerProvider;
  readonly #tracer: Tracer;
  readonly #share: number;
  readonly #now: () => Date;

  constructor({ endpoint, share, serviceName, now }: TracingOptions) {
    this.#share = share;
    this.#now = now;
    const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces` });
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes({
        'service.name': 'messaging-gateway',
        'service.namespace': serviceName,
      }),
      idGenerator: this.#ids,
      spanProcessors: [new BatchSpanProcessor({ exporter })],
    });
    this.#tracer = this.#provider.getTracer('messaging-gateway');
  }

  async stop(): Promise<void> {
    // If the collector cannot be reached, the process must still end.
    await this.#provider.shutdown().catch(() => undefined);
  }

  accepted({ id, channel, environment, recipients, createdAt }: AcceptedMessage): void {
    if (!this.#isTraced(id)) return;
    const request = presentRequest();
    const endedAt = this.#now().getTime();
    this.#root(id, {
      name: `accept ${channel}`,
      startedAt: (request?.arrivedAt ?? createdAt).getTime(),
      endedAt,
      caller: callerOf(request?.traceparent),
      attributes: {
        'messaging.message.id': id,
        'gateway.channel': channel,
        'gateway.environment': environment,
        'gateway.recipients': recipients.length,
        ...(request ? { 'gateway.request.id': request.requestId } : {}),
      },
    });
    this.#span({
      messageId: id,
      key: 'batch',
      name: 'commit batch',
      kind: SpanKind.INTERNAL,
      startedAt: createdAt.getTime(),
      endedAt,
      attributes: {},
    });
  }

  submitted({ provider, submission, outcome, seconds }: MeasuredSubmission): void {
    const { messageId, position, attempt } = submission;
    if (!this.#isTraced(messageId)) return;
    const endedAt = this.#now().getTime();
    this.#span({
      messageId,
      key: `submit ${provider} ${position} ${attempt}`,
      name: 'submit',
      kind: SpanKind.CLIENT,
      startedAt: endedAt - seconds * 1_000,
      endedAt,
      attributes: {
        'gateway.provider': provider,
        'gateway.recipient.position': position,
        'gateway.attempt': attempt,
        'gateway.outcome': outcome.kind,
      },
      error:
        outcome.kind === 'accepted' ? undefined : outcome.kind === 'rejected' ? outcome.code : 'unavailable',
    });
  }

  moved(moves: readonly MeasuredMove[]): void {
    for (const { messageId, position, provider, status, reason, reportSeconds, at } of moves) {
      if (reportSeconds === null || !this.#isTraced(messageId)) continue;
      this.#span({
        messageId,
        key: `report ${position}`,
        name: 'await report',
        kind: SpanKind.CONSUMER,
        startedAt: at.getTime() - reportSeconds * 1_000,
        endedAt: at.getTime(),
        attributes: {
          'gateway.provider': provider ?? 'none',
          'gateway.recipient.position': position,
          'gateway.status': status,
        },
        error: reason ?? undefined,
      });
    }
  }

  attempted({ messageId, deliveryId, attemptsBefore, result, seconds }: MeasuredAttempt): void {
    if (messageId === null || !this.#isTraced(messageId)) return;
    const endedAt = this.#now().getTime();
    this.#span({
      messageId,
      key: attemptKey({ deliveryId, attemptsBefore }),
      name: 'webhook',
      kind: SpanKind.PRODUCER,
      startedAt: endedAt - seconds * 1_000,
      endedAt,
      attributes: {
        'gateway.delivery.id': deliveryId,
        'gateway.attempt': attemptsBefore,
        'gateway.result': result,
      },
      error: result === '2xx' ? undefined : result,
    });
  }

  traceparentOf(attempt: Pick<MeasuredAttempt, 'messageId' | 'deliveryId' | 'attemptsBefore'>) {
    const { messageId } = attempt;
    if (messageId === null || !this.#isTraced(messageId)) return undefined;
    return `00-${traceIdOf(messageId)}-${spanIdOf(messageId, attemptKey(attempt))}-01`;
  }

  refunded(): void {}

  reported(): void {}

  returned(): void {}

  balanceOf(): void {}

  #isTraced(messageId: string): boolean {
    return Number.parseInt(messageId.slice(-SAMPLE_DIGITS), 16) < this.#share * SAMPLES;
  }

  #root(
    messageId: string,
    facts: Pick<SpanFacts, 'name' | 'startedAt' | 'endedAt' | 'attributes'> & {
      caller: SpanContext | undefined;
    },
  ): void {
    const { name, startedAt, endedAt, attributes, caller } = facts;
    this.#ids.traceId = traceIdOf(messageId);
    this.#ids.spanId = rootIdOf(messageId);
    const links: Link[] = caller ? [{ context: caller }] : [];
    const options = { root: true, kind: SpanKind.SERVER, startTime: startedAt, attributes, links };
    this.#tracer.startSpan(name, options, ROOT_CONTEXT).end(endedAt);
  }

  #span({ messageId, key, name, kind, startedAt, endedAt, attributes, error }: SpanFacts): void {
    this.#ids.spanId = spanIdOf(messageId, key);
    const parent = trace.setSpanContext(ROOT_CONTEXT, {
      traceId: traceIdOf(messageId),
      spanId: rootIdOf(messageId),
      traceFlags: TraceFlags.SAMPLED,
      isRemote: true,
    });
    const span = this.#tracer.startSpan(name, { kind, startTime: startedAt, attributes }, parent);
    if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
    span.end(endedAt);
  }
}

const traceIdOf = (messageId: string) => messageId.replaceAll('-', '');
const rootIdOf = (messageId: string) => traceIdOf(messageId).slice(16);
const attemptKey = ({ deliveryId, attemptsBefore }: Pick<MeasuredAttempt, 'deliveryId' | 'attemptsBefore'>) =>
  `webhook ${deliveryId} ${attemptsBefore}`;

function spanIdOf(messageId: string, key: string): string {
  return createHash('sha256').update(`${messageId} ${key}`).digest('hex').slice(0, 16);
}

function callerOf(traceparent: string | undefined): SpanContext | undefined {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(context) ? context : undefined;
}
