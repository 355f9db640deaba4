/** The documents of the program. Relay's compiler makes a module of each. */
import { graphql } from 'relay-runtime';

graphql`
  fragment app_messages on Account
  @refetchable(queryName: "appMessagesPage")
  @argumentDefinitions(count: { type: "Int", defaultValue: 2 }, cursor: { type: "String" }) {
    messages(first: $count, after: $cursor) @connection(key: "app_messages") {
      edges { node { id status to sentBy { __typename ... on ApiKey { name } } } }
      pageInfo { hasNextPage endCursor }
    }
  }
`;
graphql`
  query appOverviewQuery { viewer { email account { id ...app_messages } } }
`;
graphql`
  query appContactsQuery { contacts(first: 10) { edges { node { id name } } } }
`;
graphql`
  mutation appRenameMutation($id: ID!, $input: UpdateContactInput!) { updateContact(id: $id, input: $input) { id name } }
`;
graphql`
  subscription appUpdatesSubscription { messageUpdated { id status } }
`;
