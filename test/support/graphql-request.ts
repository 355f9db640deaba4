/** GraphQL requests without the schema, so that programs outside jest can use them too. */
import type { Answer, TestGateway } from './gateway.ts';

interface Cost {
  readonly requested: number;
  readonly used: number;
  readonly remaining: number | null;
  readonly resetAt: string | null;
}
export type GraphqlAnswer = Answer & { cost: Cost };
export interface GraphqlOptions {
  readonly token?: string;
  readonly variables?: object;
  readonly headers?: Record<string, string>;
}

/**
 * Sends one GraphQL request. The cost is returned next to the body, so that tests can compare the rest of the body.
 */
export async function askGraphql(
  gateway: Pick<TestGateway, 'url'>,
  query: string,
  options: GraphqlOptions = {},
): Promise<GraphqlAnswer> {
  const response = await fetch(`${gateway.url}/graphql`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      ...(options.token === undefined ? {} : { Authorization: `Bearer ${options.token}` }),
      ...options.headers,
    },
    body: JSON.stringify({ query, variables: options.variables }),
  });
  const text = await response.text();
  const { extensions: { cost, ...others } = {}, ...rest } = JSON.parse(text);
  const body = Object.keys(others).length > 0 ? { ...rest, extensions: others } : rest;
  return { status: response.status, headers: response.headers, body, text, cost };
}

/** Signs in with an email address and password, and further headers. Returns the session token. */
export async function signIn(
  gateway: Pick<TestGateway, 'url'>,
  person: { email: string; password: string },
  headers: Record<string, string> = {},
): Promise<string> {
  const query = 'mutation ($e: String!, $p: String!) { signIn(email: $e, password: $p) { token } }';
  const variables = { e: person.email, p: person.password };
  const answer = await askGraphql(gateway, query, { variables, headers });
  const token = answer.body.data?.signIn?.token;
  if (typeof token !== 'string') throw new Error(`cannot sign in: ${answer.text}`);
  return token;
}
