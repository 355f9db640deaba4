/** Pages through messages, renames a contact and watches messages, with Relay's runtime and its store. */
import { createClient } from 'graphql-sse';
import {
  commitMutation,
  createOperationDescriptor,
  Environment,
  fetchQuery,
  type GraphQLResponse,
  type GraphQLTaggedNode,
  getRequest,
  getSingularSelector,
  Network,
  Observable,
  RecordSource,
  requestSubscription,
  Store,
} from 'relay-runtime';
import messagesFragment, { type app_messages$data } from './__generated__/app_messages.graphql';
import contactsQuery, { type appContactsQuery } from './__generated__/appContactsQuery.graphql';
import pageQuery, { type appMessagesPage } from './__generated__/appMessagesPage.graphql';
import overviewQuery, { type appOverviewQuery } from './__generated__/appOverviewQuery.graphql';
import renameMutation, { type appRenameMutation } from './__generated__/appRenameMutation.graphql';
import updatesSubscription, {
  type appUpdatesSubscription,
} from './__generated__/appUpdatesSubscription.graphql';

const { API = '', TOKEN = '' } = process.env;
const Authorization = `Bearer ${TOKEN}`;
const headers = { Authorization, 'Content-Type': 'application/json' };
const live = createClient({ url: `${API}/stream`, headers: { Authorization } });
const environment = new Environment({
  network: Network.create(
    async ({ id }, variables) => {
      const body = JSON.stringify({ documentId: id, variables });
      return (await (await fetch(API, { method: 'POST', headers, body })).json()) as GraphQLResponse;
    },
    ({ id }, variables) =>
      Observable.create<GraphQLResponse>((sink) =>
        live.subscribe(
          { query: '', variables, extensions: { persistedQuery: { version: 1, sha256Hash: id } } },
          {
            next: (result) => sink.next(result as GraphQLResponse),
            error: (error) => sink.error(error instanceof Error ? error : new Error(String(error))),
            complete: () => sink.complete(),
          },
        ),
      ),
  ),
  store: new Store(new RecordSource()),
});

/** Reads the answer of a query from the store. */
function stored<Answer>(query: GraphQLTaggedNode): Answer {
  const operation = createOperationDescriptor(getRequest(query), {});
  environment.retain(operation);
  return environment.lookup(operation.fragment).data as Answer;
}
function storedMessages() {
  const { viewer } = stored<appOverviewQuery['response']>(overviewQuery);
  const selector = getSingularSelector(messagesFragment, viewer?.account);
  if (!selector) throw new Error('no account is stored');
  return (environment.lookup(selector).data as app_messages$data).messages;
}
const storedContact = () =>
  stored<appContactsQuery['response']>(contactsQuery).contacts?.edges[0]?.node ?? { id: '', name: '' };

const overview = await fetchQuery<appOverviewQuery>(environment, overviewQuery, {}).toPromise();
const id = overview?.viewer?.account?.id ?? '';
const cursor = storedMessages()?.pageInfo.endCursor;
await fetchQuery<appMessagesPage>(environment, pageQuery, { id, cursor, count: 2 }).toPromise();
const messages = storedMessages()?.edges.map(({ node }) => node) ?? [];

await fetchQuery<appContactsQuery>(environment, contactsQuery, {}).toPromise();
await new Promise<void>((resolve, onError) =>
  commitMutation<appRenameMutation>(environment, {
    mutation: renameMutation,
    variables: { id: storedContact().id, input: { name: 'Renamed' } },
    onCompleted: () => resolve(),
    onError,
  }),
);

const updated = await new Promise<string | undefined>((resolve, onError) => {
  requestSubscription<appUpdatesSubscription>(environment, {
    subscription: updatesSubscription,
    variables: {},
    onNext: (answer) => resolve(answer?.messageUpdated?.status),
    onError,
  });
  console.log('watching');
});
console.log(JSON.stringify({ messages, renamed: storedContact().name, updated }));
process.exit(0);
