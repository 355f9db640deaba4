/** One page of a list. */
export interface Page<Item> {
  readonly data: readonly Item[];
  readonly pagination: {
    readonly page: number;
    readonly limit: number;
    /** Entries on all pages together. */
    readonly total: number;
    readonly pages: number;
  };
}

export interface PageRequest {
  readonly page?: number;
  readonly limit?: number;
}

/** The largest page that the gateway gives. */
const WALK_LIMIT = 100;

/**
 * A list. `await` gives the page that was asked for; `for await` walks over all entries from that page on, and asks for
 * each page when it comes to it. An entry that moves to the next page meanwhile is met once. An entry that moves to the
 * page before, because another was deleted, is missed.
 */
export class Pages<Item> implements AsyncIterable<Item>, PromiseLike<Page<Item>> {
  readonly #load: (query: PageRequest) => Promise<Page<Item>>;
  readonly #query: PageRequest;
  readonly #isPinned: boolean;
  #first: Promise<Page<Item>> | undefined;

  /** `isPinned`: a walk is held to what was there when it began, by the query's `until`. */
  constructor(load: (query: PageRequest) => Promise<Page<Item>>, query: PageRequest, isPinned = false) {
    this.#load = load;
    this.#query = query;
    this.#isPinned = isPinned;
  }

  // biome-ignore lint/suspicious/noThenProperty: `await` on a list gives its page
  then<Result = Page<Item>, Failure = never>(
    onPage?: ((page: Page<Item>) => Result | PromiseLike<Result>) | null,
    onError?: ((error: unknown) => Failure | PromiseLike<Failure>) | null,
  ): Promise<Result | Failure> {
    this.#first ??= this.#load(this.#query);
    return this.#first.then(onPage, onError);
  }

  /** The pages from the one that was asked for to the last. */
  async *pages(): AsyncGenerator<Page<Item>, void, undefined> {
    let query: PageRequest & { until?: string } = { limit: WALK_LIMIT, ...this.#query };
    for (let number = query.page ?? 1; ; number += 1) {
      const page = await this.#load({ ...query, page: number });
      yield page;
      if (page.data.length === 0 || number >= page.pagination.pages) return;
      if (this.#isPinned && number === 1 && query.until === undefined)
        query = { ...query, until: newestOf(page) };
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    let before = new Set<unknown>();
    for await (const { data } of this.pages()) {
      for (const item of data) if (!before.has(idOf(item))) yield item;
      before = new Set(data.map(idOf));
    }
  }
}

/** Where entries have no id they are told apart by themselves. */
function idOf(item: unknown): unknown {
  const { id, keyId } = item as { readonly id?: string; readonly keyId?: string };
  return id ?? keyId ?? item;
}

/** A moment after the first entry, which is the newest: times are stored in smaller parts than they are shown in. */
function newestOf({ data: [first] }: Page<unknown>): string {
  const { createdAt } = first as { readonly createdAt: string };
  return new Date(Date.parse(createdAt) + 1).toISOString();
}
