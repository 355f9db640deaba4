import { type DocumentNode, getOperationAST, Kind, OperationTypeNode, parse } from 'graphql';
import { LIMITS } from './limits.ts';

/**
 * True if the request has the field `importContacts` and no other. Only this field may need a body of several
 * megabytes. The query text has the same limit as in other requests.
 */
export function isContactImport(body: unknown): boolean {
  if (typeof body !== 'object' || body === null) return false;
  const { query, operationName } = body as Readonly<Record<string, unknown>>;
  if (typeof query !== 'string') return false;
  const name = typeof operationName === 'string' ? operationName : null;
  const document = documentOf(query);
  const operation = document && getOperationAST(document, name);
  if (operation?.operation !== OperationTypeNode.MUTATION) return false;
  return operation.selectionSet.selections.every(
    (selection) => selection.kind === Kind.FIELD && selection.name.value === 'importContacts',
  );
}

function documentOf(query: string): DocumentNode | undefined {
  try {
    return parse(query, { maxTokens: LIMITS.tokens, noLocation: true });
  } catch {
    // Return false for a document that cannot be parsed. The smaller limit then applies, and the parser reports the
    // fault later.
    return undefined;
  }
}
