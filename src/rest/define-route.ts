import type { z } from 'zod';
import type { ApiKeyCaller } from '../domain/caller.ts';
import type { ErrorCode } from '../domain/errors.ts';
import type { Operation } from '../domain/operation.ts';
import type { Operations } from '../domain/operations.ts';

/** The answer of a route. `body` is converted to JSON. `json` is a text that is sent unchanged. */
export type RouteAnswer<Body> = {
  readonly status?: 200 | 201 | 202;
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

/** A value that an example takes from the answer of another route, such as the id of an existing contact. */
export interface AnswerPart {
  /** Method and path of the other route, e.g. `POST /developers/sms`. */
  readonly route: string;
  /** Path of the value in the other route's answer, e.g. `apiKey.keyId` or `data.0.id`. */
  readonly at: string;
  /** Makes a body that replaces the body of the other route's first example. */
  readonly body?: () => unknown;
}

/** A request that succeeds. A test sends it, and the OpenAPI document shows its body as an example. */
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
  /** Path below `/api/v1`, with `:name` for parameters. */
  readonly path: string;
  /** Further paths of the same route. In the OpenAPI document they are only mentioned in the route's description. */
  readonly aliases?: readonly string[];
  readonly summary: string;
  readonly tag: string;
  /** The operation behind the route. It defines the scopes that the route requires. */
  readonly operation: (operations: Operations) => Operation<never, unknown>;
  readonly params?: Params;
  readonly query?: Query;
  /** Schema of the body. Undefined for routes that read no body. */
  readonly body?: Body;
  readonly maxBodyBytes?: number;
  /** True if the body may also be `text/csv`. The text is then the member `csv` of the body. */
  readonly takesCsv?: true;
  /** Set if the route answers `text/csv` unless the client accepts only JSON. Returns the text from the JSON answer. */
  readonly csvOf?: (body: z.input<Response>) => string;
  /** Schema of the answer. The OpenAPI document shows it, and tests check answers against it. */
  readonly response: Response;
  readonly successStatus?: 200 | 201 | 202;
  /** True for routes that accept the Idempotency-Key header: all routes that send messages (R19). */
  readonly isIdempotent?: boolean;
  /** True if the request also counts against the budget for webhook registrations (R12). */
  readonly isWebhookRegistration?: boolean;
  /**
   * Errors that only this route's operation can cause. The errors that every route or every body can cause need not be
   * listed (R3).
   */
  readonly errors?: readonly ErrorCode[];
  /** Example requests by name. Required for routes with path parameters or a body. */
  readonly examples?: Readonly<Record<string, RouteExample<z.input<Body>>>>;
  readonly handle: (
    input: RouteInput<z.output<Params>, z.output<Query>, z.output<Body>>,
  ) => Promise<RouteAnswer<z.input<Response>>>;
  /**
   * Finds the stored answer to an earlier request with this idempotency key. Called if a request is refused. A repeated
   * request gets the first answer, even if its body differs from the first body (R19).
   */
  readonly replay?: (input: {
    readonly caller: ApiKeyCaller;
    readonly operations: Operations;
    readonly idempotencyKey: string;
  }) => Promise<RouteAnswer<z.input<Response>> | undefined>;
}

/** A route without the types of its own schemas, for the router and the OpenAPI document. */
export type Route = Omit<RouteDefinition<z.ZodType, z.ZodType, z.ZodType, z.ZodType>, 'handle'> & {
  readonly handle: (input: RouteInput<unknown, unknown, unknown>) => Promise<RouteAnswer<unknown>>;
};

/** Defines a route. Its schemas parse the inputs, describe the answer and become part of the OpenAPI document. */
export function defineRoute<
  Params extends z.ZodType,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Response extends z.ZodType,
>(definition: RouteDefinition<Params, Query, Body, Response>): Route {
  return definition as unknown as Route;
}
