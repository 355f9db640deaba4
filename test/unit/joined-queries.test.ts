import { describe, expect, it } from '@jest/globals';
import { parse } from 'graphql';
import { type Asked, groupsOf, joined, needSeparateCalls, partFor } from '../../src/console/lib/joined.ts';
import { Session } from '../../src/console/lib/session.generated.ts';
import { Ledger } from '../../src/console/pages/ledger/ledger.generated.ts';
import { Messages } from '../../src/console/pages/messages/messages.generated.ts';
import { joinedQueries } from '../../src/graphql/joined-queries.ts';
import { ERRORS_MAX } from '../../src/graphql/limits.ts';

const asked = (query: Asked['query'], variables: Asked['variables'] = {}): Asked => ({ query, variables });

describe('queries in one call', () => {
  it('are one document, each with its own names for variables and root fields', () => {
    const { name, text, variables } = joined([
      asked(Session),
      asked(Messages, { first: 5 }),
      asked(Ledger, { first: 7 }),
    ]);
    expect(name).toBe('Session_Messages_Ledger');
    expect(variables).toEqual({ Messages_first: 5, Ledger_first: 7 });
    expect(parse(text).definitions.filter(({ kind }) => kind === 'OperationDefinition')).toHaveLength(1);
    for (const part of [
      'Session_viewer:viewer{',
      '$Messages_first:Int',
      'Messages_messages:messages(first:$Messages_first',
    ])
      expect(text).toContain(part);
  });

  it('are taken apart into what each is alone', () => {
    const all = [asked(Session), asked(Messages, { first: 5 }), asked(Ledger, { first: 7 })];
    expect(joinedQueries(joined(all).text)).toEqual(all.map((each) => joined([each]).text));
  });

  it.each([
    ['a text that is no document', '{'],
    ['a mutation', 'mutation Session{Session_signOut:signOut}'],
    ['a query without a name', '{Session_viewer:viewer{id}}'],
    ['a root field of no query', 'query Session{viewer{id}}'],
    [
      'a root field with the name of a query alone',
      'query Session{Session:viewer{id} Session_viewer:viewer{id}}',
    ],
    ['a variable of no query', 'query Session($first:Int){Session_viewer:viewer{id}}'],
    ['a variable with the name of a query alone', 'query Session($Session:Int){Session_viewer:viewer{id}}'],
    ['a fragment of no query', 'query Session{Session_viewer:viewer{id}}fragment F on User{id}'],
    [
      'a fragment twice',
      'query Session{Session_viewer:viewer{...F}}fragment F on User{id}fragment F on User{email}',
    ],
    ['a type besides', 'query Session{Session_viewer:viewer{id}}scalar S'],
    ['a fragment at the root', 'query Session{...{Session_viewer:viewer{id}}}'],
    ['two operations', 'query Session{Session_viewer:viewer{id}} query Other{Other_viewer:viewer{id}}'],
    [
      'too many names',
      `query ${Array.from({ length: 16 }, (_, index) => `Q${index}`).join('_')}{Q0_viewer:viewer{id}}`,
    ],
    ['names without end', `query ${'_'.repeat(90_000)}{Q0_viewer:viewer{id}}`],
  ])('are none in %s', (_, text) => {
    expect(joinedQueries(text)).toEqual([]);
  });

  it('get their own part of an answer', () => {
    const data = { Messages_messages: 1, MessagesCount_messages: 2, Session_viewer: 3 };
    expect(partFor({ name: 'Messages' }, data)).toEqual({ messages: 1 });
    expect(partFor({ name: 'MessagesCount' }, data)).toEqual({ messages: 2 });
  });

  it('are asked alone if the errors of all do not say which of them failed', () => {
    const error = { path: ['Messages_messages'], extensions: { code: 'INTERNAL' } };
    expect(needSeparateCalls([])).toBe(false);
    expect(needSeparateCalls([error, { extensions: { code: 'UNAUTHENTICATED' } }])).toBe(false);
    expect(needSeparateCalls([{ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }])).toBe(true);
    // The server leaves out all errors after these, also those of the other queries.
    expect(needSeparateCalls(Array(ERRORS_MAX - 1).fill(error))).toBe(false);
    expect(needSeparateCalls(Array(ERRORS_MAX).fill(error))).toBe(true);
  });

  it('are in several calls if a name comes twice, or beyond what the server takes in one document', () => {
    const twice = [asked(Messages, { first: 1 }), asked(Session), asked(Messages, { first: 2 })];
    expect(groupsOf(twice)).toEqual([[twice[0], twice[1]], [twice[2]]]);
    const large = (name: string, size: Partial<Asked['query']>) => asked({ ...Messages, name, ...size });
    const tokens = ['A', 'B', 'C'].map((name) => large(name, { tokens: 400 }));
    expect(groupsOf(tokens).map((group) => group.length)).toEqual([2, 1]);
    const aliases = ['A', 'B', 'C'].map((name) => large(name, { aliases: 7 }));
    expect(groupsOf(aliases).map((group) => group.length)).toEqual([2, 1]);
  });
});
