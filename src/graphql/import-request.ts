import { type DocumentNode, getOperationAST, Kind, OperationTypeNode, parse } from 'graphql';
import { LIMITS } from './limits.ts';

/**
 * Whether a request's body asks for nothing but `importContacts`, the only field that a file of megabytes is for. The
 * text of the query is no longer than any may be.
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
    // What is wrong with it is said of smaller bodies.
    return undefined;
  }
}
