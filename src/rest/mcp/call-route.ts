import { type ApiKeyCaller, refusal } from '../../domain/caller.ts';
import type { Operation } from '../../domain/operation.ts';
import type { Operations } from '../../domain/operations.ts';
import type { Route } from '../define-route.ts';
import { parse } from '../middleware/parse.ts';
import { replayIfRefused } from '../middleware/replay-if-refused.ts';
import { routes } from '../routes/all.ts';

export interface RouteCall {
  readonly method: Route['method'];
  /** Path as in the route's definition, with `:name` for parameters. */
  readonly path: string;
  readonly params?: Readonly<Record<string, string>>;
  /** Query parameters as text, as in a URL. Parameters that are undefined are left out. */
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: object;
  readonly idempotencyKey?: string | undefined;
}

export interface RouteCallContext {
  readonly operations: Operations;
  /** Called when a scope of the key has allowed an operation, to record the use (R276). */
  readonly note: (operation: Pick<Operation<never, unknown>, 'name' | 'access'>) => void;
}

/**
 * Calls a REST route inside the process for an authenticated caller. Scopes, schemas and answers are the same as over
 * HTTP. Throws what the route throws.
 */
export async function callRoute(
  { operations, note }: RouteCallContext,
  caller: ApiKeyCaller,
  { method, path, params, query = {}, body, idempotencyKey }: RouteCall,
): Promise<unknown> {
  const route = routes.find((each) => each.method === method && each.path === path);
  if (!route) throw new Error(`there is no route ${method} ${path}`);
  const operation = route.operation(operations);
  const refused = refusal(operation.access, caller);
  if (refused) throw refused;
  note(operation);
  const given = Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined));
  const asking = { caller, operations };
  try {
    const answer = await route.handle({
      ...asking,
      params: route.params && parse(route.params, params),
      query: route.query && parse(route.query, given),
      body: route.body && parse(route.body, body),
      idempotencyKey,
    });
    return 'json' in answer ? JSON.parse(answer.json) : answer.body;
  } catch (error) {
    const sources = { header: idempotencyKey, rawBody: undefined };
    const earlier = await replayIfRefused(route, asking, sources, error);
    return 'json' in earlier ? JSON.parse(earlier.json) : earlier.body;
  }
}
