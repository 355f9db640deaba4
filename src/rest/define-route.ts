import type { z } from 'zod';
import type { ApiKeyCaller } from '../domain/caller.ts';
import type { ErrorCode } from '../domain/errors.ts';
import type { Operation } from '../domain/operation.ts';
import type { Operations } from '../domain/operations.ts';

/** What an answer is made of; `json` is text that is sent as it is. */
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

/** A value that only the answer to another route's example can give, such as the id of a thing that must exist. */
export interface AnswerPart {
  /** Method and path of that route, e.g. `POST /developers/sms`. */
  readonly route: string;
  /** Where in its answer the value stands, e.g. `apiKey.keyId` or `data.0.id`. */
  readonly at: string;
  /** Sent in place of the body of that route's first example. */
  readonly body?: () => unknown;
}

/** A request that works: a test sends it, and the document shows its body. */
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
  /** Other paths that are the same route; the document names the first. */
  readonly aliases?: readonly string[];
  readonly summary: string;
  readonly tag: string;
  /** The operation behind the route: its access is the route's. */
  readonly operation: (operations: Operations) => Operation<never, unknown>;
  readonly params?: Params;
  readonly query?: Query;
  /** Absent for routes that read no body. */
  readonly body?: Body;
  readonly maxBodyBytes?: number;
  /** Shape of the answer: documented from it, and checked against it in tests. */
  readonly response: Response;
  readonly successStatus?: 200 | 201;
  /** Sends take the Idempotency-Key header (R19). */
  readonly isIdempotent?: boolean;
  /** Has the narrower budget of webhook registrations besides (R12). */
  readonly isWebhookRegistration?: boolean;
  /** The refusals of its operation; those that every route, or every body, can meet need no mention (R3). */
  readonly errors?: readonly ErrorCode[];
  /** Needed from every route that takes parameters in its path or a body. */
  readonly examples?: Readonly<Record<string, RouteExample<z.input<Body>>>>;
  readonly handle: (
    input: RouteInput<z.output<Params>, z.output<Query>, z.output<Body>>,
  ) => Promise<RouteAnswer<z.input<Response>>>;
  /**
   * What an earlier request with this idempotency key was answered with, if anything. Asked when a request is
   * refused: a repeat gets the first answer whatever its own body says (R19).
   */
  readonly replay?: (input: {
    readonly caller: ApiKeyCaller;
    readonly operations: Operations;
    readonly idempotencyKey: string;
  }) => Promise<RouteAnswer<z.input<Response>> | undefined>;
}

/** A route as the router and the OpenAPI document see it, whatever its schemas. */
export type Route = Omit<RouteDefinition<z.ZodType, z.ZodType, z.ZodType, z.ZodType>, 'handle'> & {
  readonly handle: (input: RouteInput<unknown, unknown, unknown>) => Promise<RouteAnswer<unknown>>;
};

/** One route: one schema parses each input, describes the answer and makes its part of the OpenAPI document. */
export function defineRoute<
  Params extends z.ZodType,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Response extends z.ZodType,
>(definition: RouteDefinition<Params, Query, Body, Response>): Route {
  return definition as unknown as Route;
}
