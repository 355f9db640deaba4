import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { incompatibleChanges, type OpenApiDocument } from '../support/openapi-changes.ts';

const read = (name: string): OpenApiDocument =>
  JSON.parse(readFileSync(new URL(`../../schema/${name}`, import.meta.url), 'utf8'));
const released = read('released.openapi.json');
const present = read('openapi.json');

describe('the REST API since the last release [R1]', () => {
  it('keeps every operation, parameter and member, with its type', () => {
    expect(incompatibleChanges(released, present)).toEqual([]);
  });

  /** Returns the current document with a text replacement. */
  const changed = (from: string, to: string): OpenApiDocument => {
    const text = JSON.stringify(present);
    expect(text).toContain(from);
    return JSON.parse(text.replaceAll(from, to));
  };

  it.each([
    ['"/account"', '"/accounts"', 'GET /account is gone'],
    [
      '"balance":{"type":"number"',
      '"balance":{"type":"string"',
      'GET /account: answer.balance is string on one side only',
    ],
    [
      '["id","email","balance","currency"]',
      '["id","email","currency"]',
      'GET /account: answer.balance is required on one side only',
    ],
    [
      '"required":["to","message"]',
      '"required":["to","message","from"]',
      'POST /developers/sms: body.from is required on one side only',
    ],
    [
      '{"in":"query","name":"tag"',
      '{"in":"query","name":"label"',
      'GET /developers/contacts: query tag is gone',
    ],
    [
      '{"in":"query","name":"tag"',
      '{"in":"query","required":true,"name":"tag"',
      'GET /developers/contacts: query tag became required',
    ],
    ['"operationId":"getAccount"', '"operationId":"account"', 'GET /account: its operationId changed'],
  ])('would name a change of %s to %s', (from, to, change) => {
    expect(incompatibleChanges(present, changed(from, to))).toContain(change);
  });

  it('allows members to be added', () => {
    const more = changed('"balance":{"type":"number"', '"more":{"type":"string"},"balance":{"type":"number"');
    expect(incompatibleChanges(present, more)).toEqual([]);
  });
});
