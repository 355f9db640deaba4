import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isKeyId } from '../../src/domain/api-keys/key-format.ts';
import { directoryText, parseDirectory, withKeysOf } from '../../src/domain/cells/cell-directory.ts';
import { haproxyFiles } from '../../src/domain/cells/haproxy.ts';
import { ALL_SLOTS, isInSlots, newKeyId, parseSlots, slotOf } from '../../src/domain/cells/slots.ts';

const ACCOUNT = '0190c3e2-5b1f-7c44-9d0e-6c1b6a5f2e11';
const cell = (slots: string, host: string) => ({ host, slots, servers: ['127.0.0.1:3000'] });
const TWO = { cells: { a: cell('000-7ff', 'a.example.com'), b: cell('800-fff', 'b.example.com') } };
const read = (value: unknown) => parseDirectory(JSON.stringify(value));

describe('slots (R500)', () => {
  it('a new key id begins with the slot of its account, which is the end of its id where a cell owns all', () => {
    expect(slotOf(ACCOUNT, ALL_SLOTS)).toBe('e11');
    const keyId = newKeyId(ACCOUNT, ALL_SLOTS, randomBytes);
    expect(isKeyId(keyId)).toBe(true);
    expect(keyId.slice(0, 3)).toBe('e11');
    expect(newKeyId(ACCOUNT, ALL_SLOTS, randomBytes)).not.toBe(keyId);
  });

  it('an account has one slot, which its cell owns', () => {
    const owned = ['000-7ff', '800-fff', '123', '000-00f,abc,f00-fff'].map((text) => parseSlots(text) ?? []);
    fc.assert(
      fc.property(fc.uuid(), fc.constantFrom(...owned), (id, ranges) => {
        const slot = slotOf(id, ranges);
        expect(slot).toMatch(/^[0-9a-f]{3}$/);
        expect(isInSlots(`${slot}0123456789abc`, ranges)).toBe(true);
        expect(slotOf(id, ranges)).toBe(slot);
      }),
    );
  });

  it('the ends of the ids reach every slot of a cell', () => {
    const ranges = parseSlots('010-01f,800-fff') ?? [];
    const ends = Array.from({ length: 4096 }, (_, end) => end.toString(16).padStart(3, '0'));
    expect(new Set(ends.map((end) => slotOf(`${ACCOUNT.slice(0, -3)}${end}`, ranges))).size).toBe(2048 + 16);
  });

  it.each(['', '7ff-000', '000-7ff,400', '0-f', '00G', '000-1000', 'a00,a00'])('refuses %j', (text) => {
    expect(parseSlots(text)).toBeUndefined();
  });
});

describe('the directory of cells (R501)', () => {
  it('reads what it writes', () => {
    const directory = read({ ...TWO, keys: { '0123456789abcdef': 'b' } });
    expect(parseDirectory(directoryText(directory))).toEqual(directory);
  });

  it.each([
    ['{', 'It is not JSON.'],
    ['[]', 'The directory must be an object.'],
    [{ cells: {} }, 'cells is empty: name at least one cell.'],
    [
      { cells: { a: cell('000-7ff', 'a.example.com') } },
      'No cell has the slots 800, 801, 802, 803, 804 and 2043 more.',
    ],
    [{ cells: { ...TWO.cells, b: cell('7ff-fff', 'b.example.com') } }, 'The slot 7ff belongs to a and b.'],
    [
      { cells: { ...TWO.cells, b: cell('800-fff', 'a.example.com') } },
      'Two cells have the host a.example.com.',
    ],
    [{ cells: { A: cell('000-fff', 'a.example.com') } }, /^cells.A: a name has lower-case letters/],
    [{ cells: { a: cell('000-xyz', 'a.example.com') } }, /^cells.a.slots must be ranges/],
    [{ cells: { a: cell('000-fff', 'a b\nbind :1') } }, /^cells.a.host must be a name/],
    [{ cells: { a: { ...cell('000-fff', 'a'), servers: ['127.0.0.1'] } } }, /^cells.a.servers must list/],
    [
      { cells: { a: { ...cell('000-fff', 'a'), servers: ['127.0.0.1:99999'] } } },
      /^cells.a.servers must list/,
    ],
    [{ ...TWO, keys: { '0123456789abcdef': 'c' } }, 'keys.0123456789abcdef: there is no cell "c".'],
    [{ ...TWO, keys: { short: 'a' } }, 'keys.short: a key id is 16 hex digits in lower case.'],
  ])('refuses %j', (value, message) => {
    expect(() => (typeof value === 'string' ? parseDirectory(value) : read(value))).toThrow(message);
  });

  it('lists the keys of a cell that do not begin with a slot of it', () => {
    const [inA, inB, other] = ['0000000000000000', '8000000000000000', 'fff0000000000000'];
    const directory = withKeysOf(read({ ...TWO, keys: { [other]: 'a' } }), 'a', [inA, inB], []);
    expect([...directory.keys]).toEqual([[inB, 'a']]);
    // Its account moves to b: its own slot says so again.
    expect([...withKeysOf(directory, 'b', [inA, inB], 'all').keys]).toEqual([[inA, 'b']]);
    expect(() => withKeysOf(directory, 'c', [], 'all')).toThrow(
      'There is no cell c; the directory has a, b.',
    );
  });

  it('makes the files of HAProxy', () => {
    const directory = read({ ...TWO, keys: { '0123456789abcdef': 'b' } });
    const files = haproxyFiles(directory, { directory: '/etc/haproxy/cells', bind: ':8080' });
    expect(Object.keys(files)).toEqual(['haproxy.cfg', 'keys.map', 'slots.map', 'hosts.map']);
    expect(files['keys.map']).toBe('0123456789abcdef b\n');
    expect(files['slots.map']?.split('\n')).toEqual(
      expect.arrayContaining(['000 a', '7ff a', '800 b', 'fff b']),
    );
    expect(files['slots.map']?.trim().split('\n')).toHaveLength(4096);
    expect(files['hosts.map']).toBe('a.example.com a\nb.example.com b\n');
    expect(files['haproxy.cfg']).toContain('server a1 127.0.0.1:3000 check');
  });
});
