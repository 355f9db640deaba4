import { type ClassType, Field, Int, ObjectType } from 'type-graphql';
import type { Slice } from '../domain/paging.ts';

@ObjectType({ description: 'Where a slice of a list lies.', simpleResolvers: true })
class PageInfo {
  @Field(() => Boolean, { description: 'Whether there is more after this slice.' })
  hasNextPage!: boolean;

  @Field(() => Boolean, { description: 'Whether there is something before this slice.' })
  hasPreviousPage!: boolean;

  @Field(() => String, { nullable: true, description: 'Cursor of the first row; null for an empty slice.' })
  startCursor!: string | null;

  @Field(() => String, {
    nullable: true,
    description: 'Cursor of the last row, to be given as `after`; null for an empty slice.',
  })
  endCursor!: string | null;
}

/** The class of the Relay connection of a type, to be returned by fields that take `first` and `after`. */
export function connectionOf(name: string, node: () => ClassType): ClassType {
  @ObjectType(`${name}Edge`, { description: `A ${name} and its place in a list.`, simpleResolvers: true })
  class Edge {
    @Field(() => String, { description: 'Place of the row, to be given as `after`.' })
    cursor!: string;

    @Field(node, { description: 'The row.' })
    node!: unknown;
  }

  @ObjectType(`${name}Connection`, { description: `A slice of a list of ${name}.`, simpleResolvers: true })
  class Connection {
    @Field(() => [Edge], { description: 'The rows with their places.' })
    edges!: unknown;

    @Field(() => [node()], { description: 'The rows.' })
    nodes!: unknown;

    @Field(() => PageInfo, { description: 'Where the slice lies.' })
    pageInfo!: unknown;

    @Field(() => Int, { description: 'How many rows the whole list has; counted only when it is asked for.' })
    totalCount!: unknown;
  }
  return Connection;
}

/** A slice in the shape of a connection; the total is counted when the field is executed. */
export function connection<T>(slice: Slice<T>) {
  return {
    edges: slice.edges,
    nodes: slice.edges.map((edge) => edge.node),
    pageInfo: {
      hasNextPage: slice.hasNextPage,
      hasPreviousPage: slice.hasPreviousPage,
      startCursor: slice.edges[0]?.cursor ?? null,
      endCursor: slice.edges.at(-1)?.cursor ?? null,
    },
    totalCount: () => slice.total(),
  };
}
