/** One page of a list. */
export interface Page<Item> {
  readonly data: readonly Item[];
  readonly pagination: {
    readonly page: number;
    readonly limit: number;
    /** Number of entries on all pages. */
    readonly total: number;
    readonly pages: number;
  };
}

export interface PageRequest {
  readonly page?: number;
  readonly limit?: number;
}

/** Entries on a page when all pages are loaded. The gateway allows no larger page. */
const WALK_LIMIT = 100;

/**
 * A list. `await` gives the requested page. `for await` yields all entries from that page on, and loads each page when
 * it is needed.
 * If an entry moves to the next page meanwhile, it is yielded once. If an entry moves to the previous page, because
 * another one was deleted, it is missed.
 */
export class Pages<Item> implements AsyncIterable<Item>, PromiseLike<Page<Item>> {
  readonly #load: (query: PageRequest) => Promise<Page<Item>>;
  readonly #query: PageRequest;
  readonly #isPinned: boolean;
  #first: Promise<Page<Item>> | undefined;

  /**
   * With `isPinned`, an iteration covers only the entries that existed at its start, by the query parameter `until`.
   */
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

  /** Yields the requested page and all pages after it. */
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

/** Returns what identifies an entry: its id or key id, or the entry itself if it has neither. */
function idOf(item: unknown): unknown {
  const { id, keyId } = item as { readonly id?: string; readonly keyId?: string };
  return id ?? keyId ?? item;
}

/**
 * Returns a time 1 ms after the first entry, which is the newest. The gateway stores times with more digits than it
 * shows, so the shown time itself would exclude this entry.
 */
function newestOf({ data: [first] }: Page<unknown>): string {
  const { createdAt } = first as { readonly createdAt: string };
  return new Date(Date.parse(createdAt) + 1).toISOString();
}
