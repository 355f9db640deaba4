import { isEnumType, Kind, parse } from 'graphql';
import { codesOfMutation } from '../../src/graphql/mutation-errors.ts';
import { createSchema } from '../../src/graphql/schema.ts';
import type { Answer, TestGateway } from './gateway.ts';
import { askGraphql, type GraphqlAnswer, type GraphqlOptions, signIn } from './graphql-request.ts';

export { signIn };

const schema = createSchema();

/**
 * Returns error codes that the schema does not announce (R272): codes of a mutation's own errors that its `@errors`
 * does not list, and codes that are no `ErrorCode`.
 */
function unlistedCodes(query: string, errors: readonly FoundError[] = []): string[] {
  const known = schema.getType('ErrorCode');
  const isCode = (code: string) => isEnumType(known) && known.getValue(code) !== undefined;
  return errors.flatMap(({ path = [], extensions: { code = 'none' } = {} }) => {
    if (!isCode(code)) return [code];
    const name = path.length === 1 ? mutationAt(query, path[0]) : undefined;
    return name === undefined || codesOfMutation(schema, name).includes(code) ? [] : [`${name}: ${code}`];
  });
}

interface FoundError {
  readonly path?: readonly unknown[];
  readonly extensions?: { readonly code?: string };
}

/** Returns the name of the mutation whose result has the response key `key`. Undefined for a query. */
function mutationAt(query: string, key: unknown): string | undefined {
  for (const definition of parse(query).definitions) {
    if (definition.kind !== Kind.OPERATION_DEFINITION || definition.operation !== 'mutation') continue;
    for (const field of definition.selectionSet.selections) {
      if (field.kind === Kind.FIELD && (field.alias ?? field.name).value === key) return field.name.value;
    }
  }
  return undefined;
}

/** Sends one GraphQL request. Throws if an error has a code that the schema does not announce. */
export async function graphql(
  gateway: Pick<TestGateway, 'url'>,
  query: string,
  options: GraphqlOptions = {},
): Promise<GraphqlAnswer> {
  const answer = await askGraphql(gateway, query, options);
  const unlisted = unlistedCodes(query, JSON.parse(answer.text).errors);
  if (unlisted.length > 0) throw new Error(`codes that @errors does not list: ${unlisted.join('; ')}`);
  return answer;
}

/** Returns the codes of an answer's errors. */
export function codesOf(answer: Answer): string[] {
  return (answer.body.errors ?? []).map(
    (error: { extensions?: { code?: string } }) => error.extensions?.code ?? '',
  );
}

let invited = 0;

/**
 * Invites a new member to the account. `token` is the session of an owner or admin. Returns the new member's
 * credentials.
 */
export async function inviteMember(gateway: Pick<TestGateway, 'url'>, token: string, role: string) {
  invited += 1;
  const email = `member${invited}-${Date.now()}@test.example`;
  const query = `mutation ($email: String!, $role: Role!) {
    inviteMember(email: $email, role: $role) { user { id } password }
  }`;
  const answer = await graphql(gateway, query, { token, variables: { email, role } });
  const { user, password } = answer.body.data.inviteMember;
  return { id: user.id as string, email, password: password as string };
}

/** Signs in a platform operator. Returns the session token. With `isReadOnly` the operator may change nothing. */
export async function signInOperator(
  gateway: Pick<TestGateway, 'url' | 'parts'>,
  isReadOnly = false,
): Promise<string> {
  const email = isReadOnly ? 'reader@platform.example' : 'operator@platform.example';
  const system = { kind: 'system', name: 'test' } as const;
  const { password } = await gateway.parts.operations.accounts.createOperator.run(system, {
    email,
    isReadOnly,
  });
  return signIn(gateway, { email, password });
}
