/** Traces of messages, for OpenTelemetry. Off unless OTEL_EXPORTER_OTLP_ENDPOINT is set. */
import type { Measurements } from './measurements.ts';

/**
 * Records the spans of messages from the measurements (R346). The trace id of a message is made from the message's id.
 * So every process can compute it, and it is neither stored nor passed on.
 */
export interface Tracing extends Measurements {
  /** Sends the recorded spans and stops. Never rejects. */
  stop(): Promise<void>;
}
