import { describe, expect, it } from '@jest/globals';
import {
  answerFormOf,
  isLiveQuery,
  isSubscription,
  namesGraphql,
  namesOnlyJson,
} from '../../src/graphql/answer-form.ts';

const URQL =
  'application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed';
const APOLLO =
  'multipart/mixed;boundary=graphql;subscriptionSpec=1.0,application/graphql-response+json,application/json;q=0.9';

describe('the media type of a GraphQL response', () => {
  it.each([
    // Columns: Accept header, form for a query or mutation, form for a subscription.
    [URQL, 'json', 'event stream'],
    [APOLLO, 'json', 'multipart'],
    ['multipart/mixed; boundary="graphql"; subscriptionSpec="1.0", */*', 'json', 'multipart'],
    [`text/event-stream, ${APOLLO}`, 'json', 'event stream'],
    ['text/event-stream;q=0, multipart/mixed;subscriptionSpec=1.0', 'json', 'multipart'],
    // A subscription is refused as JSON, because a client that accepts anything expects a single answer.
    [undefined, 'json', 'json'],
    ['', 'json', 'json'],
    ['*/*', 'json', 'json'],
    ['text/html, */*;q=0.8', 'json', 'json'],
    ['application/json', 'json', undefined],
    ['application/json; charset=utf-8', 'json', undefined],
    ['application/graphql-response+json', 'json', undefined],
    ['application/*', 'json', undefined],
    ['application/json;q=0.1, text/event-stream', 'json', 'event stream'],
    ['text/event-stream', 'event stream', 'event stream'],
    ['TEXT/Event-Stream ; q=1', 'event stream', 'event stream'],
    ['text/*', 'event stream', 'event stream'],
    ['application/json;q=0, application/graphql-response+json;q=0, */*', 'event stream', 'json'],
    ['application/json, text/event-stream;q=0', 'json', undefined],
    ['application/json, text/event-stream;q=0.0, */*', 'json', undefined],
    // No form matches. So Apollo refuses the query.
    ['text/html', 'json', undefined],
    ['multipart/mixed', 'json', undefined],
    ['multipart/mixed;deferSpec=20220824', 'json', undefined],
    [';;,,q=', 'json', undefined],
  ])('for Accept: %s it is %s, and for a subscription %s', (accept, ofQuery, ofSubscription) => {
    expect([answerFormOf(accept, false), answerFormOf(accept, true)]).toEqual([ofQuery, ofSubscription]);
  });

  it.each([
    [{ query: 'subscription { usageTick { at } }' }, true],
    [{ query: '# a comment\nsubscription S { usageTick { at } }', operationName: null }, true],
    [{ query: 'query A { a } subscription B { b }', operationName: 'B' }, true],
    [{ query: 'query A { a } subscription B { b }', operationName: 'A' }, false],
    [{ query: 'query A { a } subscription B { b }' }, false],
    [{ query: '{ subscription }' }, false],
    [{ query: 'subscription {' }, false],
    [{ query: `subscription { a } # ${'('.repeat(10_000)}` }, true],
    [{ query: 5 }, false],
    [{}, false],
    [[], false],
    [null, false],
    ['subscription { a }', false],
  ])('depends on the operation that runs: %j', (parameters, expected) => {
    expect(isSubscription(parameters)).toBe(expected);
  });

  it.each([
    [{ query: 'query A @live { a }' }, true],
    [{ query: 'query A { a } query B @ live { b }', operationName: 'B' }, true],
    [{ query: 'query A @live { a } query B { b }', operationName: 'B' }, false],
    [{ query: '{ live }' }, false],
    [{ query: 'subscription A @live { a }' }, false],
    [{ query: 'query A @live {' }, false],
    [{}, false],
  ])('%j runs again after changes: %s', (parameters, expected) => {
    expect(isLiveQuery(parameters)).toBe(expected);
  });

  it.each([
    ['application/json', true],
    ['application/json; charset=utf-8, */*;q=0.1', true],
    ['application/json, application/graphql-response+json;q=0', true],
    ['application/json;q=0, */*', false],
    ['application/*', false],
    ['*/*', false],
    [undefined, false],
    [URQL, false],
    [APOLLO, false],
  ])('%s names only plain JSON: %s', (accept, expected) => {
    expect(namesOnlyJson(accept)).toBe(expected);
  });

  it.each([
    [URQL, true],
    [APOLLO, true],
    ['*/*', false],
    [undefined, false],
    ['application/graphql-response+json;q=0, */*', false],
  ])('%s shows whether a GraphQL client sent the request', (accept, expected) => {
    expect(namesGraphql(accept)).toBe(expected);
  });
});
