import type { ApiKeyCaller } from '../../domain/caller.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Operations } from '../../domain/operations.ts';
import type { Route, RouteAnswer } from '../define-route.ts';
import { findTextFault } from './request.ts';

/** The places in a request that may hold an idempotency key. */
interface KeySources {
  readonly header: string | undefined;
  readonly rawBody: Buffer | undefined;
}

/**
 * The stored answer for the idempotency key of a request that was refused with `error`. A repeat gets the first
 * answer, whatever its own body says (R19). Throws `error` when there is none.
 */
export async function replayOf(
  route: Route,
  asking: { readonly caller: ApiKeyCaller; readonly operations: Operations },
  sources: KeySources,
  error: unknown,
): Promise<RouteAnswer<unknown>> {
  if (!route.replay || !(error instanceof DomainError)) throw error;
  // The lookup would fail too, and its error would invite the client to try again.
  if (error.code === 'outcome_unknown') throw error;
  const idempotencyKey = keyOf(sources, error);
  const earlier =
    idempotencyKey === undefined ? undefined : await route.replay({ ...asking, idempotencyKey });
  if (!earlier) throw error;
  return earlier;
}

/** The key of the request. Undefined when it has none, or two different ones. */
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
