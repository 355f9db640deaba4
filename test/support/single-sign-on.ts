import type { TestGateway } from './gateway.ts';
import { graphql } from './graphql.ts';
import type { IdentityProvider } from './identity-provider.ts';

const START = `mutation ($email: String, $next: String, $confirm: Boolean) {
  startSingleSignOn(email: $email, next: $next, confirm: $confirm) { url }
}`;
const FINISH = `mutation ($provider: String!, $query: String!) {
  finishSingleSignOn(provider: $provider, query: $query) { session { token } next }
}`;
/** The ends of the redirect URIs of the sign-ins that were begun, by the cookie of the browser. */
const providers = new Map<string, string>();

let addresses = 0;

/** Begins a sign-in as a browser does. Returns the provider's URL and the browser's cookie. */
export async function beginSingleSignOn(
  gateway: Pick<TestGateway, 'url'>,
  { token, ...variables }: { email?: string; next?: string; confirm?: boolean; token?: string },
) {
  addresses += 1;
  const headers = { 'X-Forwarded-For': `198.51.100.${addresses % 250}` };
  const answer = await graphql(gateway, START, {
    variables,
    headers,
    ...(token === undefined ? {} : { token }),
  });
  const url = answer.body.data?.startSingleSignOn?.url;
  if (typeof url !== 'string') throw new Error(`cannot begin: ${answer.text}`);
  const cookies = answer.headers.getSetCookie();
  const cookie = cookies.find((line) => line.includes('single-sign-on='))?.split(';')[0];
  const provider = new URL(url).searchParams.get('redirect_uri')?.split('/').at(-1);
  if (cookie !== undefined && provider !== undefined) providers.set(cookie, provider);
  return { url, cookies, cookie };
}

/** Finishes a sign-in with the query of the provider's redirect. `provider` is the end of the redirect URI. */
export function finishSingleSignOn(
  gateway: Pick<TestGateway, 'url'>,
  query: string,
  cookie: string | undefined,
  token?: string,
  provider = providers.get(cookie ?? '') ?? 'operators',
) {
  const headers: Record<string, string> = cookie === undefined ? {} : { Cookie: cookie };
  return graphql(gateway, FINISH, {
    variables: { provider, query },
    headers,
    ...(token === undefined ? {} : { token }),
  });
}

/** Signs the provider's person in. Returns the session token. */
export async function signInBy(
  gateway: Pick<TestGateway, 'url'>,
  provider: IdentityProvider,
  email?: string,
): Promise<string> {
  const begun = await beginSingleSignOn(gateway, email === undefined ? {} : { email });
  const answer = await finishSingleSignOn(gateway, await provider.visit(begun.url), begun.cookie);
  const token = answer.body.data?.finishSingleSignOn?.session?.token;
  if (typeof token !== 'string') throw new Error(`cannot sign in: ${answer.text}`);
  return token;
}
