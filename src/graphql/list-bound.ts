import {
  defaultFieldResolver,
  type GraphQLFieldResolver,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isCompositeType,
  isListType,
  isObjectType,
} from 'graphql';
import type { Message } from '../domain/messages/message.ts';
import { limitRefusal } from './limits.ts';

/**
 * Greatest number of objects in the lists of a response. It allows ten messages with 1,000 recipients each, and the
 * lists around them.
 */
export const OBJECTS_MAX = 12_000;
/**
 * A recipient address or a tag counts as this fraction of an object. So 100 messages may show all their recipient
 * addresses.
 */
const WEIGHT_OF_LEAF = 0.1;

/**
 * Limits the lists of a response. Before a query runs, plain lists are assumed to be short. While it runs, all lists of
 * a response together may hold 12,000 objects. Events that are resolved together count as one response.
 */
export class ListAllowance {
  #taken = 0;

  /** Counts objects. Throws an error that refuses the whole query if the limit is exceeded. */
  take(objects: number): void {
    this.#taken += objects;
    if (this.#taken > OBJECTS_MAX) throw tooLong();
  }

  /** Loads a list of unknown length. `load` is called with the greatest number of rows that it may read. */
  async load<T>(load: (limit: number) => Promise<readonly T[]>): Promise<readonly T[]> {
    const rows = await load(OBJECTS_MAX + 1);
    if (rows.length > OBJECTS_MAX) throw tooLong();
    return rows;
  }
}

/** What lists need from the context of a request. */
interface Asked {
  readonly allowance: ListAllowance;
}

/** Changes the schema, so that every list counts against the limit of its request. */
export function boundLists(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith('__')) continue;
    // The number of a message's recipient addresses is known before its lists are loaded. Each list has about as many
    // rows. So count this number first.
    const leastOf = type.name === 'Message' ? (source: unknown) => (source as Message).to.length : () => 0;
    for (const field of Object.values(type.getFields())) {
      const list = getNullableType(field.type);
      if (!isListType(list)) continue;
      const weight = isCompositeType(getNamedType(list)) ? 1 : WEIGHT_OF_LEAF;
      field.resolve = bounded(field.resolve ?? defaultFieldResolver, leastOf, weight);
    }
  }
  return schema;
}

function bounded(
  resolve: GraphQLFieldResolver<unknown, Asked>,
  leastOf: (source: unknown) => number,
  weight: number,
): GraphQLFieldResolver<unknown, Asked> {
  // Use an async function. An error that is thrown outside a promise would leave the promises of other fields without a
  // handler.
  return async (source, args, context, info) => {
    const least = leastOf(source);
    context.allowance.take(least * weight);
    const list: unknown = await resolve(source, args, context, info);
    if (Array.isArray(list)) context.allowance.take(Math.max(0, list.length - least) * weight);
    return list;
  };
}

function tooLong() {
  const message = `The lists in the answer would hold more than ${OBJECTS_MAX} objects. Ask for fewer at once.`;
  return limitRefusal('cost', message);
}
