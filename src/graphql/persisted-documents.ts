import { createHash } from 'node:crypto';
import type { FormattedExecutionResult } from 'graphql';
import { LRUCache } from 'lru-cache';
import type { Session } from '../domain/accounts/sessions.ts';
import { forbidden, validationError } from '../domain/errors.ts';
import { CONSOLE_DOCUMENTS } from './console-documents.generated.ts';
import { docUrlOf } from './error-codes.ts';

/** Limits of documents that clients register, in documents and in characters. */
const MAX_DOCUMENTS = 1_000;
const MAX_CHARACTERS = 10_000_000;

const NOT_FOUND = 'PERSISTED_QUERY_NOT_FOUND';

/** The answer to the hash of a document that is not known: Apollo's clients then send the document with it. */
export const DOCUMENT_NOT_FOUND: FormattedExecutionResult = {
  errors: [
    { message: 'PersistedQueryNotFound', extensions: { code: NOT_FOUND, docUrl: docUrlOf(NOT_FOUND) } },
  ],
};

/** The members of a request that name its document. */
export interface Named {
  readonly query?: unknown;
  readonly documentId?: unknown;
  readonly extensions?: unknown;
}

/**
 * Documents by hash (R283): those of the file of `GRAPHQL_DOCUMENTS`, and those that signed-in clients register by
 * sending hash and document together (Apollo's automatic persisted queries).
 */
export class PersistedDocuments {
  readonly #listed: ReadonlyMap<string, string>;
  /** Hashes of what sessions may run; undefined if they may run anything. */
  readonly #only: ReadonlySet<string> | undefined;
  readonly #registered = new LRUCache<string, string>({
    max: MAX_DOCUMENTS,
    maxSize: MAX_CHARACTERS,
    sizeCalculation: (text) => text.length + 1,
  });

  /** With `isExclusive`, sessions run only what is listed, and the console's documents. */
  constructor(listed: ReadonlyMap<string, string> | undefined, isExclusive: boolean) {
    this.#listed = listed ?? new Map();
    if (listed && isExclusive)
      this.#only = new Set([...CONSOLE_DOCUMENTS, ...[...listed.values()].map(hashOf)]);
  }

  /**
   * The document of a request; undefined if it names one that is not known. Throws `validation_error` for a hash of
   * another document, and `forbidden` for a document that the session may not run.
   */
  find(named: Named, session: Session | undefined): string | undefined {
    const id = idOf(named);
    const query = typeof named.query === 'string' && named.query !== '' ? named.query : undefined;
    const text = query ?? (id === undefined ? '' : (this.#listed.get(id) ?? this.#registered.get(id)));
    // Access tokens are for programs, and anonymous callers can only sign in.
    if (this.#only && session && !session.isToken && text !== '' && !(text && this.#only.has(hashOf(text)))) {
      throw forbidden(
        'Sessions run only the documents that this gateway lists. Add yours to the file of GRAPHQL_DOCUMENTS.',
      );
    }
    if (query !== undefined && id !== undefined && this.#listed.get(id) !== query) {
      if (hashOf(query) !== id) {
        const message = 'must be the SHA-256 of query, in hexadecimal';
        throw validationError([{ path: 'extensions.persistedQuery.sha256Hash', message }]);
      }
      // What nobody has to sign in for must not push out what people use.
      if (session) this.#registered.set(id, query);
    }
    return text;
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
