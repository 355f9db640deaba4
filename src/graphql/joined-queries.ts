import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  Kind,
  type OperationDefinitionNode,
  parse,
  print,
  stripIgnoredCharacters,
  visit,
} from 'graphql';
import { LIMITS } from './limits.ts';

/** Greatest number of queries in a document. Each has a root field with an alias at least. */
const MAX_QUERIES = LIMITS.aliases;

/**
 * Takes apart a document that joins several queries of the console. Its name is their names with `_` between them, and
 * each variable and each root field has the name of its query before it, such as `Messages_first`. Returns the text of
 * each query as the console sends it alone. Empty if the document is not such a query, or has anything besides.
 */
export function joinedQueries(text: string): readonly string[] {
  const document = parsed(text);
  const [query, ...others] = document?.definitions.filter(isOperation) ?? [];
  if (!document || !query || others.length > 0 || query.operation !== 'query' || !query.name) return [];
  const names = new Set(query.name.value.split('_', MAX_QUERIES + 1));
  if (names.size > MAX_QUERIES) return [];
  // A name without anything after its `_` is in no part, so a field or variable that is called so would run unseen.
  const isOfOne = (key = '') => key.includes('_') && names.has(key.split('_', 1)[0] ?? '');
  const fields = query.selectionSet.selections;
  if (!fields.every((each) => each.kind === Kind.FIELD && isOfOne(each.alias?.value))) return [];
  if (!(query.variableDefinitions ?? []).every(({ variable }) => isOfOne(variable.name.value))) return [];
  const fragments = document.definitions.filter(isFragment);
  const used = new Set<FragmentDefinitionNode>();
  const parts = [...names].map((name) => partText(name, query, fragments, used));
  return used.size + 1 === document.definitions.length ? parts : [];
}

function parsed(text: string): DocumentNode | undefined {
  try {
    return parse(text, { maxTokens: LIMITS.tokens, noLocation: true });
  } catch {
    // Apollo parses it again, and answers with the error.
    return undefined;
  }
}

function partText(
  name: string,
  query: OperationDefinitionNode,
  fragments: readonly FragmentDefinitionNode[],
  allUsed: Set<FragmentDefinitionNode>,
): string {
  const isOfPart = (key: string | undefined) => key?.startsWith(`${name}_`) === true;
  const part: OperationDefinitionNode = {
    ...query,
    name: { kind: Kind.NAME, value: name },
    variableDefinitions: (query.variableDefinitions ?? []).filter((each) =>
      isOfPart(each.variable.name.value),
    ),
    selectionSet: {
      kind: Kind.SELECTION_SET,
      selections: query.selectionSet.selections.filter(
        (each) => each.kind === Kind.FIELD && isOfPart((each as FieldNode).alias?.value),
      ),
    },
  };
  const used = usedFragments(part, fragments);
  for (const each of used) allUsed.add(each);
  return stripIgnoredCharacters(print({ kind: Kind.DOCUMENT, definitions: [part, ...used] }));
}

/** Returns the fragments that a query spreads, also within other fragments, by their names. */
function usedFragments(
  query: OperationDefinitionNode,
  fragments: readonly FragmentDefinitionNode[],
): readonly FragmentDefinitionNode[] {
  const used = new Set<FragmentDefinitionNode>();
  const note = (node: OperationDefinitionNode | FragmentDefinitionNode): void => {
    visit(node, {
      FragmentSpread({ name }) {
        const found = fragments.find((each) => each.name.value === name.value);
        if (!found || used.has(found)) return;
        used.add(found);
        note(found);
      },
    });
  };
  note(query);
  return [...used].sort((one, other) => (one.name.value < other.name.value ? -1 : 1));
}

const isOperation = (node: { readonly kind: string }): node is OperationDefinitionNode =>
  node.kind === Kind.OPERATION_DEFINITION;
const isFragment = (node: { readonly kind: string }): node is FragmentDefinitionNode =>
  node.kind === Kind.FRAGMENT_DEFINITION;
