import { eventually } from './eventually.ts';
import type { TestGateway } from './gateway.ts';
import { graphql } from './graphql.ts';

/** Returns a CSV file of contacts. Each contact has a different phone number and `externalId`. */
export function contactsCsv(rows: number): string {
  const lines = ['name,phone,email,externalId,tags,city'];
  for (let row = 0; row < rows; row++) {
    const phone = `+2567${String(row).padStart(8, '0')}`;
    lines.push(`Person ${row},${phone},person${row}@example.com,ext-${row},"red;blue",Kampala ${row % 100}`);
  }
  return lines.join('\r\n');
}

/** Starts an import and returns its id. */
export async function startImport(
  gateway: Pick<TestGateway, 'url'>,
  token: string,
  csv: string,
): Promise<string> {
  const query = 'mutation ($csv: String!) { importContacts(csv: $csv) { id } }';
  const answer = await graphql(gateway, query, { token, variables: { csv } });
  const id = answer.body.data?.importContacts?.id;
  if (typeof id !== 'string') throw new Error(`cannot import: ${answer.text}`);
  return id;
}

/** Waits until an import has ended. Returns its state and progress. */
export function endOfImport(
  gateway: Pick<TestGateway, 'url'>,
  token: string,
  id: string,
): Promise<{ state: string; progress: Readonly<Record<string, number>> }> {
  const query = `query ($id: ID!) { contactImport(id: $id) {
    state finishedAt progress { rowsTotal rowsDone created updated failed } } }`;
  return eventually(async () => {
    const found = (await graphql(gateway, query, { token, variables: { id } })).body.data.contactImport;
    return found.finishedAt !== null && { state: found.state, progress: found.progress };
  });
}
