/** Traces of messages, for OpenTelemetry. Off unless OTEL_EXPORTER_OTLP_ENDPOINT is set. */
import type { Measurements } from './measurements.ts';

/**
 * Records the spans of messages from what is measured (R346). The trace of a message has the message's id, so every
 * process finds it without being told: nothing is stored or carried.
 */
export interface Tracing extends Measurements {
  /** Sends what is recorded, and ends. Never rejects. */
  stop(): Promise<void>;
}
