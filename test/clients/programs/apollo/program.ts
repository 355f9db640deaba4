/** Pages through messages, renames a contact and watches messages, with Apollo Client and its normalized cache. */
import { readFileSync } from 'node:fs';
import { ApolloClient, gql, HttpLink } from '@apollo/client';
import { buildSchema, introspectionFromSchema } from 'graphql';
import { apolloCache } from './apollo-cache.js';

const warnings: unknown[] = [];
console.warn = (...texts) => warnings.push(texts);
console.error = console.warn;

const { API = '', TOKEN = '' } = process.env;
const introspection = introspectionFromSchema(buildSchema(readFileSync('schema.graphql', 'utf8')));
const cache = apolloCache(introspection);
const link = new HttpLink({ uri: API, headers: { Authorization: `Bearer ${TOKEN}` } });
const client = new ApolloClient({ cache, link });
const PAGE = gql`query Page($after: String) { messages(first: 2, after: $after) {
  edges { cursor node { id status to costMoney { amount currency } recipients { to status error { code } }
    sentBy { __typename ... on Node { id } ... on ApiKey { name } } } }
  pageInfo { hasNextPage endCursor } } }`;
const CONTACTS = gql`{ contacts(first: 10) { nodes { id name tags } } }`;
const RENAME = gql`mutation ($id: ID!) { updateContact(id: $id, input: { name: "Renamed" }) { id name } }`;
const UPDATES = gql`subscription { messageUpdated { id status } }`;

interface Messages {
  readonly messages: {
    readonly edges: readonly { readonly node: object }[];
    readonly pageInfo: { readonly endCursor: string };
  };
}
interface Contacts {
  readonly contacts: { readonly nodes: readonly { readonly id: string; readonly name: string }[] };
}

const list = client.watchQuery<Messages, { after?: string }>({ query: PAGE });
const shown = list.subscribe(() => undefined);
const { data } = await client.query<Messages>({ query: PAGE });
await list.fetchMore({ variables: { after: data?.messages.pageInfo.endCursor ?? '' } });
const messages = cache.readQuery<Messages>({ query: PAGE })?.messages.edges.map(({ node }) => node);
shown.unsubscribe();

const id = (await client.query<Contacts>({ query: CONTACTS })).data?.contacts.nodes[0]?.id;
await client.mutate({ mutation: RENAME, variables: { id } });
const renamed = cache.readQuery<Contacts>({ query: CONTACTS })?.contacts.nodes[0]?.name;

const updated = await new Promise((resolve, reject) => {
  client.subscribe<{ messageUpdated: { status: string } }>({ query: UPDATES }).subscribe({
    next: ({ data, error }) => (error ? reject(error) : resolve(data?.messageUpdated.status)),
    error: reject,
  });
  console.log('watching');
});
console.log(JSON.stringify({ messages, renamed, updated, warnings }));
process.exit(0);
