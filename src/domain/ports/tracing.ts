/** Traces of messages, for OpenTelemetry. Off unless OTEL_EXPORTER_OTLP_ENDPOINT is set. */
import type { Measurements } from './measurements.ts';

export interface RequestTrace {
  /** The header `traceparent` of the request. Anything that is not valid counts as absent. */
  readonly traceparent: string | undefined;
  readonly requestId: string;
}

/**
 * Records the spans of messages from what is measured (R346). The trace of a message has the message's id, so every
 * process finds it without being told: nothing is stored or carried.
 */
export interface Tracing extends Measurements {
  /** Runs `work`: messages that it accepts are linked to the request, and their traces begin with it. */
  inRequest(request: RequestTrace, work: () => void): void;
  /** Sends what is recorded, and ends. Never rejects. */
  stop(): Promise<void>;
}
