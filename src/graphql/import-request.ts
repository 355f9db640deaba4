import { type DocumentNode, getOperationAST, Kind, OperationTypeNode, parse } from 'graphql';
import { LIMITS } from './limits.ts';

/**
 * True if the body asks for `importContacts` only, the one field that may need megabytes. The text of the query has the
 * same limit as any other.
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
    // Other faults are reported when the smaller limit applies.
    return undefined;
  }
}
