import { expect, it } from '@jest/globals';
import { knownStatements, type Statement, statement } from '../../src/storage/postgres/sql.ts';
import { startTestGateway } from '../support/gateway.ts';

it('PostgreSQL parses every statement, and each has a unique name', async () => {
  await using gateway = await startTestGateway();
  const { all, refused } = await gateway.parts.diagnostics.refusedStatements();
  expect(refused).toEqual([]);
  expect(all).toBeGreaterThan(190);
  const names = knownStatements().map(({ name }) => name);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

it('a statement that PostgreSQL cannot parse is named with the error, and the others are still tried', async () => {
  await using gateway = await startTestGateway();
  const known = knownStatements() as Statement[];
  statement('newer-than-any', 'SELECT 1 FROM json_of_the_future($1)');
  statement('cut-off', 'SELECT (');
  const { refused } = await gateway.parts.diagnostics.refusedStatements();
  // Test files share the modules of the gateway.
  known.length -= 2;
  expect(refused).toEqual([
    expect.stringMatching(/^newer-than-any \(function json_of_the_future\(.*\) does not exist\)$/),
    expect.stringMatching(/^cut-off \(syntax error/),
  ]);
});
