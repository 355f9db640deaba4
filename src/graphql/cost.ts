import {
  defaultFieldResolver,
  type GraphQLField,
  type GraphQLFieldResolver,
  type GraphQLSchema,
  getNamedType,
  isCompositeType,
  isObjectType,
} from 'graphql';
import type { Budgets, Payer } from '../domain/accounts/budgets.ts';
import type { PointVerdict } from '../domain/ports/rate-limiter.ts';

/** The arguments of a field, after GraphQL has parsed them. */
type Arguments = Readonly<Record<string, unknown>>;

/**
 * Points that a field costs in addition to the objects of its answer (R280). One point is the work for one object of a
 * page: about 0.1 ms of database time.
 */
export interface FieldCost {
  /** Points that each call of the field's resolver costs. */
  readonly each?: (args: Arguments) => number;
  /** Points if the query asks for `totalCount` of this connection. Default: `TOTAL`. */
  readonly total?: (args: Arguments) => number;
  /** True if a dry run may show the list, because it contains only what the dry run itself wrote. */
  readonly isOfDryRun?: true;
}
/** Points of a dry run. It costs many points, because it holds locks and a connection of the pool that intake uses. */
const DRY_RUN = 100;
/** Points of a `totalCount`. It is cheap, because most totals are stored or counted in blocks. */
const TOTAL = 1;

/** Makes a cost function for a field that one argument makes expensive, such as a search. */
export const weighing =
  (name: string, weight: number, otherwise = 0) =>
  (args: Arguments) =>
    isGiven(args[name]) ? weight : otherwise;
/** Makes a cost function for a total: `weight` if any of the fields `names` of `filter` is given, else `otherwise`. */
export const weighingFilter = (names: readonly string[], weight: number, otherwise: number) => {
  return ({ filter }: Arguments) => {
    const given = typeof filter === 'object' && filter !== null ? (filter as Arguments) : {};
    return names.some((name) => isGiven(given[name])) ? weight : otherwise;
  };
};
const DAY_MS = 24 * 3_600_000;
/** Returns the number of days that a span touches, from 1 to `most`. */
export const daysIn = (from: unknown, to: unknown, most: number): number =>
  Math.min(most, Math.max(0, Math.ceil((Number(to) - Number(from)) / DAY_MS)) + 1);
const isGiven = (value: unknown) => value !== undefined && value !== null && value !== '';

/** Returns the points for resolving a field once with these arguments. */
export function eachOf(field: GraphQLField<unknown, unknown>, args: Arguments): number {
  return (costOf(field)?.each?.(args) ?? 0) + (isDryRun(args) ? DRY_RUN : 0);
}

/** True if a mutation with these arguments is a dry run. */
export const isDryRun = ({ dryRun }: Arguments): boolean => dryRun === true;

/**
 * True if the field reads too much for a dry run: lists in pages, and fields with points of their own. A dry run holds
 * its locks until its fields are read (R331).
 */
export function isBeyondDryRun(field: GraphQLField<unknown, unknown>): boolean {
  const cost = costOf(field);
  return (cost !== undefined || isConnection(field)) && !cost?.isOfDryRun;
}

/** Returns the points for `totalCount` of a connection. Returns 0 for other fields. */
export function totalOf(field: GraphQLField<unknown, unknown>, args: Arguments): number {
  return isConnection(field) ? (costOf(field)?.total?.(args) ?? TOTAL) : 0;
}

/** True if the field returns a page of a list. */
export function isConnection(field: GraphQLField<unknown, unknown>): boolean {
  return field.args.some(({ name }) => name === 'first');
}

function costOf(field: GraphQLField<unknown, unknown>): FieldCost | undefined {
  return field.extensions.cost as FieldCost | undefined;
}

/** The budgets from which the points of operations are paid. */
export type PointBudgets = Pick<Budgets, 'takePoints' | 'giveBackPoints' | 'pointRefusal'>;

/** Counts the points of one operation. */
export class Bill {
  /** Estimated points of the operation. Set before it runs. */
  requested = 0;
  /** Estimated points that are not given back, because nothing counts them while it runs: those of introspection. */
  certain = 0;
  /** Points of the objects in the response and of the fields that were resolved. Known after it has run. */
  used = 0;
  #paid: { readonly payer: Payer; readonly taken: number; readonly verdict: PointVerdict } | undefined;

  /**
   * Takes the estimated points from the budget of `payer`. With `isCostOnly` it takes none. Throws
   * `rate_limit_exceeded` if the budget of this minute has too few points left.
   */
  async charge(budgets: PointBudgets, payer: Payer, isCostOnly: boolean): Promise<void> {
    const taken = isCostOnly ? 0 : this.requested;
    if (!isCostOnly) this.used += this.certain;
    const verdict = await budgets.takePoints(payer, taken);
    this.#paid = { payer, taken, verdict };
    if (!verdict.isAllowed) throw budgets.pointRefusal(verdict, taken);
  }

  /**
   * Gives unused points back to the budget. Returns `extensions.cost`. `remaining` is null if no points were taken from
   * a budget.
   */
  settle(budgets: PointBudgets) {
    const { requested, used } = this;
    if (!this.#paid) return { requested, used, remaining: null, resetAt: null };
    const { payer, taken, verdict } = this.#paid;
    const unused = verdict.isAllowed ? taken - used : 0;
    budgets.giveBackPoints(payer, verdict, unused);
    const remaining = Math.max(0, verdict.remaining + unused);
    return { requested, used, remaining, resetAt: verdict.resetAt.toISOString() };
  }

  /**
   * The budget's verdict. It has the number of points that are left after the estimated points of this operation.
   * Undefined before `charge`.
   */
  get verdict(): PointVerdict | undefined {
    return this.#paid?.verdict;
  }
}

interface Billed {
  readonly bill: Bill;
}

/** Changes the resolvers of a schema. Each resolver then adds the points of its field to the bill of the request. */
export function countCosts(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith('__')) continue;
    for (const field of Object.values(type.getFields())) {
      const hasPoints = costOf(field) !== undefined || field.args.some(({ name }) => name === 'dryRun');
      if (hasPoints || isCompositeType(getNamedType(field.type))) field.resolve = counted(field);
    }
  }
  return schema;
}

function counted(field: GraphQLField<unknown, unknown>): GraphQLFieldResolver<unknown, Billed> {
  const resolve = (field.resolve ?? defaultFieldResolver) as GraphQLFieldResolver<unknown, Billed>;
  const shows = isCompositeType(getNamedType(field.type)) ? objectsIn : () => 0;
  const isPage = isConnection(field);
  return (source, args: Arguments, context, info) => {
    const { bill } = context;
    bill.used += eachOf(field, args);
    const count = (value: unknown) => {
      bill.used += shows(value);
      return isPage && typeof value === 'object' && value !== null
        ? withCountedTotal(value, () => {
            bill.used += totalOf(field, args);
          })
        : value;
    };
    const value: unknown = resolve(source, args, context, info);
    return value instanceof Promise ? value.then(count) : count(value);
  };
}

function objectsIn(value: unknown): number {
  if (Array.isArray(value)) return value.filter((item) => item !== null && item !== undefined).length;
  return value === null || value === undefined ? 0 : 1;
}

/** Returns the connection with another `totalCount`, which calls `note` and then counts. */
function withCountedTotal(page: object, note: () => void): object {
  if (!('totalCount' in page) || typeof page.totalCount !== 'function') return page;
  const count = page.totalCount as () => Promise<number>;
  return {
    ...page,
    totalCount: () => {
      note();
      return count();
    },
  };
}
