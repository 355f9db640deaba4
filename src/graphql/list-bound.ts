import {
  defaultFieldResolver,
  type GraphQLFieldResolver,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isListType,
  isObjectType,
} from 'graphql';
import type { Message } from '../domain/messages/message.ts';
import { limitRefusal } from './limits.ts';

/** Ten messages with a thousand recipients each, and room for the lists around them. */
const OBJECTS_MAX = 12_000;
/** An address or a tag counts as a part of an object: a hundred messages may show all their addresses. */
const WEIGHT_OF_LEAF = 0.1;

/**
 * Before it runs, a query is measured as if plain lists were short. While it runs, all lists of the answer together,
 * or of the events that are made at once, hold no more than 12,000 objects.
 */
export class ListAllowance {
  #taken = 0;

  /** Throws the refusal of the query once its lists hold too many objects. */
  take(objects: number): void {
    this.#taken += objects;
    if (this.#taken > OBJECTS_MAX) throw tooLong();
  }

  /** Loads a list of which nobody knows how long it is, with `load`, which is told how much of it to read. */
  async load<T>(load: (limit: number) => Promise<readonly T[]>): Promise<readonly T[]> {
    const rows = await load(OBJECTS_MAX + 1);
    if (rows.length > OBJECTS_MAX) throw tooLong();
    return rows;
  }
}

/** What the context of a request has for its lists. */
interface Asked {
  readonly allowance: ListAllowance;
}

/** Makes every list in the schema count on the allowance of its request. */
export function boundLists(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith('__')) continue;
    // A message has one recipient, and about one of each other thing, for each address: known before it is loaded.
    const leastOf = type.name === 'Message' ? (source: unknown) => (source as Message).to.length : () => 0;
    for (const field of Object.values(type.getFields())) {
      const list = getNullableType(field.type);
      if (!isListType(list)) continue;
      const weight = isObjectType(getNamedType(list)) ? 1 : WEIGHT_OF_LEAF;
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
  // Thrown before it gives a promise, an error would leave those of its neighbours in a list with nobody to catch them.
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
