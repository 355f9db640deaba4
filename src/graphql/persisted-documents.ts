import { createHash } from 'node:crypto';
import type { FormattedExecutionResult } from 'graphql';
import { LRUCache } from 'lru-cache';
import type { Session } from '../domain/accounts/sessions.ts';
import { forbidden, validationError } from '../domain/errors.ts';
import { CONSOLE_DOCUMENTS } from './console-documents.generated.ts';
import { docUrlOf } from './error-codes.ts';
import { joinedQueries } from './joined-queries.ts';

/** Limits of the documents that clients register: their number, and their total length in characters. */
const MAX_DOCUMENTS = 1_000;
const MAX_CHARACTERS = 10_000_000;

const NOT_FOUND = 'PERSISTED_QUERY_NOT_FOUND';

/** The answer to an unknown hash. After it, Apollo's clients send the request again with the document. */
export const DOCUMENT_NOT_FOUND: FormattedExecutionResult = {
  errors: [
    { message: 'PersistedQueryNotFound', extensions: { code: NOT_FOUND, docUrl: docUrlOf(NOT_FOUND) } },
  ],
};

/** The parts of a request that name its document. */
export interface Named {
  readonly query?: unknown;
  readonly documentId?: unknown;
  readonly extensions?: unknown;
}

/**
 * Documents by hash (R283). Some come from the file of `GRAPHQL_DOCUMENTS`. Others are registered by signed-in clients,
 * which send hash and document together (Apollo's automatic persisted queries).
 */
export class PersistedDocuments {
  readonly #listed: ReadonlyMap<string, string>;
  /** Hashes of the listed documents and of the console's documents. */
  readonly #own: ReadonlySet<string>;
  /** True if sessions may run only these documents. */
  readonly #isExclusive: boolean;
  readonly #registered = new LRUCache<string, string>({
    max: MAX_DOCUMENTS,
    maxSize: MAX_CHARACTERS,
    sizeCalculation: (text) => text.length + 1,
  });

  /** With `isExclusive`, sessions may run only the listed documents and the console's documents. */
  constructor(listed: ReadonlyMap<string, string> | undefined, isExclusive: boolean) {
    this.#listed = listed ?? new Map();
    this.#own = new Set([...CONSOLE_DOCUMENTS, ...[...this.#listed.values()].map(hashOf)]);
    this.#isExclusive = listed !== undefined && isExclusive;
  }

  /**
   * Returns the document of a request. Undefined if the request names an unknown hash. Throws `validation_error` if the
   * request has a document that does not fit its hash. Throws `forbidden` if the session may not run the document.
   */
  find(named: Named, session: Session | undefined): string | undefined {
    const id = idOf(named);
    const query = typeof named.query === 'string' && named.query !== '' ? named.query : undefined;
    const text = query ?? (id === undefined ? '' : (this.#listed.get(id) ?? this.#registered.get(id)));
    // Only sessions are restricted to listed documents. Access tokens are not, because they are for programs. A caller
    // without a session can only sign in.
    if (session && !session.isToken && text !== '' && !this.servesSessions(text)) {
      throw forbidden(
        'Sessions run only the documents that this gateway lists. Add yours to the file of GRAPHQL_DOCUMENTS.',
      );
    }
    if (query !== undefined && id !== undefined && this.#listed.get(id) !== query) {
      if (hashOf(query) !== id) {
        const message = 'must be the SHA-256 of query, in hexadecimal';
        throw validationError([{ path: 'extensions.persistedQuery.sha256Hash', message }]);
      }
      // Register the documents of signed-in callers only. Otherwise strangers could push the documents of users out of
      // the cache.
      if (session) this.#registered.set(id, query);
    }
    return text;
  }

  /**
   * True if sessions may run the document. If false, a sign-in in the document does not start its session within the
   * same request. Otherwise the answer could select anything that the person may read.
   */
  servesSessions(text: string | undefined): boolean {
    return !this.#isExclusive || (text !== undefined && this.#isOwn(text));
  }

  /** True if the document is one of the listed or of the console's, or if it joins several of the console's queries. */
  #isOwn(text: string): boolean {
    if (this.#own.has(hashOf(text))) return true;
    const parts = joinedQueries(text);
    return parts.length > 1 && parts.every((part) => this.#own.has(hashOf(part)));
  }

  /** True if the document is listed or the console's, or if a client has registered it. */
  knows(text: string): boolean {
    const hash = hashOf(text);
    return this.#own.has(hash) || this.#registered.has(hash);
  }
}

/** True if a request names its document by a hash. */
export function namesDocument(named: Named): boolean {
  return idOf(named) !== undefined;
}

function idOf({ documentId, extensions }: Named): string | undefined {
  if (typeof documentId === 'string') return documentId.replace(/^sha256:/, '');
  const { persistedQuery } = Object(extensions) as { persistedQuery?: unknown };
  const { sha256Hash } = Object(persistedQuery) as { sha256Hash?: unknown };
  return typeof sha256Hash === 'string' ? sha256Hash : undefined;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
