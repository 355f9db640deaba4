import type { z } from 'zod';
import type { ApiKeyCaller } from '../domain/caller.ts';
import type { ErrorCode } from '../domain/errors.ts';
import type { Operation } from '../domain/operation.ts';
import type { Operations } from '../domain/operations.ts';

/** The answer of a route. `json` is sent as it is. */
export type RouteAnswer<Body> = {
  readonly status?: 200 | 201;
  readonly headers?: Readonly<Record<string, string>>;
} & ({ readonly body: Body } | { readonly json: string });

interface RouteInput<Params, Query, Body> {
  readonly caller: ApiKeyCaller;
  readonly operations: Operations;
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** The value of the Idempotency-Key header. */
  readonly idempotencyKey: string | undefined;
}

/** A value from the answer to another route's example, such as the id of something that must exist. */
export interface AnswerPart {
  /** Method and path of that route, e.g. `POST /developers/sms`. */
  readonly route: string;
  /** Path of the value in that answer, e.g. `apiKey.keyId` or `data.0.id`. */
  readonly at: string;
  /** Replaces the body of that route's first example. */
  readonly body?: () => unknown;
}

/** A request that works. A test sends it, and the OpenAPI document shows its body. */
export interface RouteExample<Body> {
  readonly summary?: string;
  /** Every path parameter, by name. */
  readonly params?: Readonly<Record<string, AnswerPart>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: Body;
}

export interface RouteDefinition<
  Params extends z.ZodType,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Response extends z.ZodType,
> {
  readonly method: 'get' | 'post' | 'put' | 'delete';
  /** Below `/api/v1`, with `:name` for parameters. */
  readonly path: string;
  /** Further paths of the same route. The document names the first path only. */
  readonly aliases?: readonly string[];
  readonly summary: string;
  readonly tag: string;
  /** The operation behind the route. Its scopes are the route's. */
  readonly operation: (operations: Operations) => Operation<never, unknown>;
  readonly params?: Params;
  readonly query?: Query;
  /** Absent for routes that read no body. */
  readonly body?: Body;
  readonly maxBodyBytes?: number;
  /** The answer's schema: the document shows it, and tests check answers against it. */
  readonly response: Response;
  readonly successStatus?: 200 | 201;
  /** Sends take the Idempotency-Key header (R19). */
  readonly isIdempotent?: boolean;
  /** Also counts against the budget for webhook registrations (R12). */
  readonly isWebhookRegistration?: boolean;
  /** The errors of its operation, beyond those that every route or every body can meet (R3). */
  readonly errors?: readonly ErrorCode[];
  /** Required for routes with path parameters or a body. */
  readonly examples?: Readonly<Record<string, RouteExample<z.input<Body>>>>;
  readonly handle: (
    input: RouteInput<z.output<Params>, z.output<Query>, z.output<Body>>,
  ) => Promise<RouteAnswer<z.input<Response>>>;
  /**
   * The stored answer to an earlier request with this idempotency key. Called when a request is refused: a repeat
   * gets the first answer, whatever its own body says (R19).
   */
  readonly replay?: (input: {
    readonly caller: ApiKeyCaller;
    readonly operations: Operations;
    readonly idempotencyKey: string;
  }) => Promise<RouteAnswer<z.input<Response>> | undefined>;
}

/** A route with any schemas, for the router and the OpenAPI document. */
export type Route = Omit<RouteDefinition<z.ZodType, z.ZodType, z.ZodType, z.ZodType>, 'handle'> & {
  readonly handle: (input: RouteInput<unknown, unknown, unknown>) => Promise<RouteAnswer<unknown>>;
};

/** Defines a route. One schema parses each input, describes the answer and becomes a part of the OpenAPI document. */
export function defineRoute<
  Params extends z.ZodType,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Response extends z.ZodType,
>(definition: RouteDefinition<Params, Query, Body, Response>): Route {
  return definition as unknown as Route;
}
