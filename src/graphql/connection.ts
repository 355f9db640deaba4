import { type ClassType, Float, Field as LazyField, ObjectType } from 'type-graphql';
import type { Slice } from '../domain/paging.ts';
import { DateTime } from './scalars.ts';
import { Field } from './typed.ts';

@ObjectType({ description: 'The place of a page in its list.', simpleResolvers: true })
class PageInfo {
  @Field(() => Boolean, { description: 'Whether rows follow the page.' })
  hasNextPage!: boolean;

  @Field(() => Boolean, { description: 'Whether rows precede the page.' })
  hasPreviousPage!: boolean;

  @Field(() => String, { nullable: true, description: 'Cursor of the first row. Null if the page is empty.' })
  startCursor!: string | null;

  @Field(() => String, {
    nullable: true,
    description: 'Cursor of the last row; pass it as `after`. Null if the page is empty.',
  })
  endCursor!: string | null;
}

interface EdgeOf<Node> {
  readonly cursor: string;
  readonly node: Node;
}
interface ConnectionOf<Node> {
  readonly edges: readonly EdgeOf<Node>[];
  readonly nodes: readonly Node[];
  readonly pageInfo: PageInfo;
  /** Counts the rows. Called only if the query asks for `totalCount`. */
  readonly totalCount: () => Promise<number>;
}
/** A page of a list whose search may stop before the end. */
interface SearchedConnectionOf<Node> extends ConnectionOf<Node> {
  readonly searchedBackTo: () => Promise<Date | undefined>;
}

/** Makes the class of a Relay connection, for fields with the arguments `first` and `after`. */
export function connectionOf<Node extends object>(
  name: string,
  node: () => ClassType<Node>,
): ClassType<ConnectionOf<Node>> {
  @ObjectType(`${name}Edge`, { description: 'One row of a list and its cursor.', simpleResolvers: true })
  class Edge implements EdgeOf<Node> {
    @Field(() => String, { description: 'Cursor of the row; pass it as `after`.' })
    cursor!: string;

    @LazyField(node, { description: 'The row.' })
    node!: Node;
  }

  @ObjectType(`${name}Connection`, {
    description: 'One page of a list (Relay cursor connection).',
    simpleResolvers: true,
  })
  class Connection implements ConnectionOf<Node> {
    @Field(() => [Edge], { description: 'The rows with their cursors.' })
    edges!: readonly Edge[];

    @LazyField(() => [node()], { description: 'The rows.' })
    nodes!: readonly Node[];

    @Field(() => PageInfo, { description: 'The place of the page in the list.' })
    pageInfo!: PageInfo;

    @LazyField(() => Float, {
      description: 'Number of rows in the whole list. It is counted only if you ask for it.',
    })
    totalCount!: () => Promise<number>;
  }
  return Connection;
}

/** Makes the class of a connection whose search may stop before the end of the list. */
export function searchedConnectionOf<Node extends object>(
  name: string,
  node: () => ClassType<Node>,
): ClassType<SearchedConnectionOf<Node>> {
  const connectionType = connectionOf(name, node) as ClassType<SearchedConnectionOf<Node>>;
  LazyField(() => DateTime, {
    nullable: true,
    description:
      'Where the search stopped: rows before this time were not looked at. Ask again with it as `to` of the filter. Null if all were.',
  })(connectionType.prototype, 'searchedBackTo');
  return connectionType;
}

/** Converts a slice whose search may stop. */
export function searchedConnection<T>(slice: Slice<T>): SearchedConnectionOf<T> {
  return { ...connection(slice), searchedBackTo: async () => slice.searchedBackTo?.() };
}

/** Converts a slice into a connection. The total is counted only if the query asks for it. */
export function connection<T>(slice: Slice<T>): ConnectionOf<T> {
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
