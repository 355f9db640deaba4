import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { DomainError } from '../../src/domain/errors.ts';
import { parse } from '../../src/rest/middleware/parse.ts';

const SCHEMA = z.object({
  message: z.string(),
  kind: z.enum(['text', 'template']),
  fixed: z.literal('one'),
  list: z.array(z.string()).max(2),
  count: z.number().int().min(0).max(10),
  flag: z.boolean(),
  extra: z.object({ id: z.string().min(1).max(3) }),
  labels: z.record(z.string(), z.string()),
  own: z.string({ error: 'must be a name' }),
});

const RIGHT = {
  ...{ message: 'Hello', kind: 'text', fixed: 'one', list: [], count: 1, flag: true },
  ...{ extra: { id: 'a' }, labels: {}, own: 'name' },
};

/** Returns the faults of a value, as `path: message`. */
function faultsOf(value: unknown): readonly string[] {
  try {
    parse(SCHEMA, value);
  } catch (error) {
    if (error instanceof DomainError) return error.message.split('; ');
    throw error;
  }
  return [];
}

describe('faults of members say what would be right (R581)', () => {
  it('of missing members', () => {
    expect(faultsOf(RIGHT)).toEqual([]);
    expect(faultsOf({})).toEqual([
      'message: is missing: it must be text',
      'kind: is missing: it must be one of text, template',
      'fixed: is missing: it must be one',
      'list: is missing: it must be a list',
      'count: is missing: it must be a number',
      'flag: is missing: it must be true or false',
      'extra: is missing: it must be an object',
      'labels: is missing: it must be an object',
      'own: must be a name',
    ]);
  });

  it.each([
    [{ message: 5 }, 'message: must be text, not a number'],
    [{ message: null }, 'message: must be text, not null'],
    [{ message: ['a'] }, 'message: must be text, not a list'],
    [{ list: 'a' }, 'list: must be a list, not text'],
    [{ list: ['a', 'b', 'c'] }, 'list: must be at most 2 entries long'],
    [{ list: [true] }, 'list.0: must be text, not true or false'],
    [{ kind: 'image' }, 'kind: must be one of text, template'],
    [{ fixed: 'two' }, 'fixed: must be one'],
    [{ count: 1.5 }, 'count: must be a whole number'],
    [{ count: -1 }, 'count: must be at least 0'],
    [{ count: 11 }, 'count: must be at most 10'],
    [{ extra: [] }, 'extra: must be an object, not a list'],
    [{ extra: { id: '' } }, 'extra.id: must not be empty'],
    [{ extra: { id: 'long' } }, 'extra.id: must be at most 3 characters long'],
    [{ own: 5 }, 'own: must be a name'],
  ])('of %j', (wrong, fault) => {
    expect(faultsOf({ ...RIGHT, ...wrong })).toEqual([fault]);
  });

  it('of a missing member with the unknown ones, at most five, and none of strange characters', () => {
    const { message, ...others } = RIGHT;
    expect(faultsOf({ ...others, body: message })).toEqual([
      'message: is missing: it must be text (unknown here: body)',
    ]);
    const many = Object.fromEntries(
      ['a', 'b', 'c\u0000', 'x'.repeat(41), 'd', 'e', 'f'].map((name) => [name, 1]),
    );
    expect(faultsOf({ ...others, ...many })).toEqual([
      'message: is missing: it must be text (unknown here: a, b, d, e, f)',
    ]);
    // An unknown member is no fault of its own, and no hint where the member is there.
    expect(faultsOf({ ...RIGHT, body: message })).toEqual([]);
    expect(faultsOf({ ...others, message: 5, body: message })).toEqual([
      'message: must be text, not a number',
    ]);
  });

  it('of a body that is no object', () => {
    expect(faultsOf([])).toEqual(['must be an object, not a list']);
    expect(faultsOf(null)).toEqual(['must be an object, not null']);
  });
});
