import { describe, expect, it } from '@jest/globals';
import { describeHold, type Place, reasonToHold } from '../../src/domain/recovery/hold.ts';

const place: Place = { systemIdentifier: '7', databaseOid: 16_384, restoredAs: null };
const unknown: Place = { systemIdentifier: null, databaseOid: null, restoredAs: null };

describe('whether a copy is held (R230)', () => {
  it.each<[string, Place, Place, string | undefined]>([
    ['where it was', place, place, undefined],
    ['new', unknown, place, undefined],
    ['on a server that does not tell', place, unknown, undefined],
    ['on another server', place, { ...place, systemIdentifier: '8' }, 'copied'],
    ['in another database', place, { ...place, databaseOid: 16_385 }, 'copied'],
    ['restored', place, { ...place, restoredAs: 'r1' }, 'restored'],
    [
      'restored and released before',
      { ...place, restoredAs: 'r1' },
      { ...place, restoredAs: 'r1' },
      undefined,
    ],
    ['restored once more', { ...place, restoredAs: 'r1' }, { ...place, restoredAs: 'r2' }, 'restored'],
  ])('%s', (_what, known, found, reason) => {
    expect(reasonToHold(known, found, false)).toBe(reason);
  });

  it('whatever it is, where the operator asks for it', () => {
    expect(reasonToHold(place, place, true)).toBe('asked');
  });

  it('says so in a sentence', () => {
    const hold = { reason: 'restored', at: new Date('2026-11-24T09:30:00Z'), dataUntil: null } as const;
    expect(describeHold(hold)).toBe(
      'Nothing is sent since 2026-11-24T09:30:00.000Z: it was restored from a backup. An operator ends it with: ' +
        'npm run cli -- release.',
    );
  });
});
