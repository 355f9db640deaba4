import { createGraphiQLFetcher, type Fetcher, fetcherReturnToPromise } from '@graphiql/toolkit';
import { GraphiQL } from 'graphiql';
import { buildSchema } from 'graphql';
import { createClient } from 'graphql-sse';
import { StrictMode, useState } from 'react';
import { createRoot } from 'react-dom/client';
import 'graphiql/graphiql.css';
import './explorer.css';
import { EXAMPLES } from './examples.ts';

const URL = '/graphql';
const queries = createGraphiQLFetcher({ url: URL });
const streams = createClient({ url: URL, retryAttempts: 0 });

/**
 * Sends an operation: a subscription as an event stream, anything else as a POST. The browser adds the session cookie
 * to both.
 */
const fetcher: Fetcher = (parameters, options) => {
  const { query, operationName, variables } = parameters;
  const operation = options?.documentAST?.definitions.find(
    (each) => each.kind === 'OperationDefinition' && (!operationName || each.name?.value === operationName),
  );
  const isSubscription = operation?.kind === 'OperationDefinition' && operation.operation === 'subscription';
  if (!isSubscription) return queries(parameters, options);
  return streams.iterate({ query, variables, ...(operationName ? { operationName } : {}) });
};

function Explorer({ schema, email }: { schema: string; email: string | undefined }) {
  const [example, setExample] = useState(EXAMPLES[0]);
  const variables = example?.variables ? JSON.stringify(example.variables(), null, 2) : '';
  return (
    <>
      <header>
        <a href="/docs">Messaging gateway</a>
        <label>
          Example{' '}
          <select
            value={example?.name}
            onChange={(event) => setExample(EXAMPLES.find(({ name }) => name === event.target.value))}
          >
            {EXAMPLES.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <a href="/graphql/schema.graphql" download="schema.graphql">
          schema.graphql
        </a>
        <span>
          {email === undefined ? (
            <>
              Nobody is signed in: <a href="/console">sign in at the console</a>, then load this page again.
            </>
          ) : (
            email
          )}
        </span>
      </header>
      <main>
        <GraphiQL
          schema={schema === '' ? undefined : buildSchema(schema)}
          fetcher={fetcher}
          query={example?.query}
          variables={variables}
          isHeadersEditorEnabled={false}
        />
      </main>
    </>
  );
}

/** Returns the email address of the person whose session the browser has. Undefined without a session. */
async function viewerEmail(): Promise<string | undefined> {
  const answer = (await fetcherReturnToPromise(
    queries({ query: '{ viewer { email } }' }) as Promise<{ data?: { viewer?: { email: string } } }>,
  )) as { data?: { viewer?: { email: string } } };
  return answer.data?.viewer?.email;
}

const described = await fetch(`${URL}/schema.graphql`);
const schema = described.ok ? await described.text() : '';
const email = await viewerEmail();
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <Explorer schema={schema} email={email} />
  </StrictMode>,
);
