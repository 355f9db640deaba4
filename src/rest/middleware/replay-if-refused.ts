import type { ApiKeyCaller } from '../../domain/caller.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Operations } from '../../domain/operations.ts';
import type { Route, RouteAnswer } from '../define-route.ts';
import { findTextFault } from './request.ts';

/** The parts of a request that may contain an idempotency key. */
interface KeySources {
  readonly header: string | undefined;
  readonly rawBody: Buffer | undefined;
}

/**
 * Returns the stored answer for the idempotency key of a request that was refused with `error`. A repeated request gets
 * the first answer, even if its body differs from the first body (R19). Throws `error` if there is no stored answer.
 * Intake finds the answers of repeated requests that are not refused.
 */
export async function replayIfRefused(
  route: Route,
  asking: { readonly caller: ApiKeyCaller; readonly operations: Operations },
  sources: KeySources,
  error: unknown,
): Promise<RouteAnswer<unknown>> {
  if (!route.replay || !(error instanceof DomainError)) throw error;
  // The outcome of the send is unknown, because the database failed. The lookup may fail, too. Its error would tell the
  // client to try again, which could send the message twice.
  if (error.code === 'outcome_unknown') throw error;
  const idempotencyKey = keyOf(sources, error);
  const earlier =
    idempotencyKey === undefined ? undefined : await route.replay({ ...asking, idempotencyKey });
  if (!earlier) throw error;
  return earlier;
}

/**
 * Returns the idempotency key of the request. Undefined if there is none, or if header and body name different ones.
 */
function keyOf({ header, rawBody }: KeySources, { code }: DomainError): string | undefined {
  const inBody = code === 'invalid_json' || !rawBody ? undefined : keyInBody(rawBody);
  if (header !== undefined && inBody !== undefined && header !== inBody) return undefined;
  const key = header ?? inBody;
  return key === undefined || findTextFault(key) ? undefined : key;
}

function keyInBody(rawBody: Buffer): string | undefined {
  try {
    const body: unknown = JSON.parse(rawBody.toString());
    const key =
      typeof body === 'object' && body && 'idempotencyKey' in body ? body.idempotencyKey : undefined;
    return typeof key === 'string' ? key : undefined;
  } catch {
    return undefined;
  }
}
