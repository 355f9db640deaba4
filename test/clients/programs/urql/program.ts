/** Pages through messages, renames a contact and watches messages, with urql and its normalized cache. */
import { readFileSync } from 'node:fs';
import { Client, fetchExchange } from '@urql/core';
import { buildSchema, introspectionFromSchema } from 'graphql';
import { graphcache } from './graphcache.js';

const warnings: unknown[] = [];
console.warn = (...texts) => warnings.push(texts);
console.error = console.warn;

const { API = '', TOKEN = '' } = process.env;
const introspection = introspectionFromSchema(buildSchema(readFileSync('schema.graphql', 'utf8')));
const client = new Client({
  url: API,
  exchanges: [graphcache(introspection), fetchExchange],
  fetchSubscriptions: true,
  fetchOptions: { headers: { Authorization: `Bearer ${TOKEN}` } },
});
const PAGE = `query Page($after: String) { messages(first: 2, after: $after) {
  edges { cursor node { id status to costMoney { amount currency } recipients { to status error { code } }
    sentBy { __typename ... on ApiKey { id name } } } }
  pageInfo { hasNextPage endCursor } } }`;
const CONTACTS = '{ contacts(first: 10) { nodes { id name tags } } }';
const RENAME = 'mutation ($id: ID!) { updateContact(id: $id, input: { name: "Renamed" }) { id name } }';

const ask = async (query: string, variables: object = {}, isStored = false) => {
  const requestPolicy = isStored ? 'cache-only' : 'cache-first';
  const { data, error } = await client.query(query, variables, { requestPolicy }).toPromise();
  if (error) throw error;
  return data;
};
const first = await ask(PAGE);
// With the second page, the cache gives both.
const { messages } = await ask(PAGE, { after: first.messages.pageInfo.endCursor });

const [contact] = (await ask(CONTACTS)).contacts.nodes;
const { error } = await client.mutation(RENAME, { id: contact.id }).toPromise();
if (error) throw error;
const [renamed] = (await ask(CONTACTS, {}, true)).contacts.nodes;

const updated = await new Promise((resolve, reject) => {
  const watch = client.subscription('subscription { messageUpdated { id status } }', {});
  watch.subscribe(({ data, error }) => (error ? reject(error) : resolve(data.messageUpdated.status)));
  console.log('watching');
});
const nodes = messages.edges.map(({ node }: { node: object }) => node);
console.log(JSON.stringify({ messages: nodes, renamed: renamed.name, updated, warnings }));
process.exit(0);
