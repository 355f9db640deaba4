import { describe, expect, it } from '@jest/globals';
import { describeHold, type Place, reasonToHold } from '../../src/domain/recovery/hold.ts';

const place: Place = { systemIdentifier: '7', databaseOid: 16_384, restoredAs: null, timeline: '00000001' };
const unknown: Place = { systemIdentifier: null, databaseOid: null, restoredAs: null, timeline: null };

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
    ['promoted while a worker used it', place, { ...place, timeline: '00000002' }, undefined],
    ['restored once more', { ...place, restoredAs: 'r1' }, { ...place, restoredAs: 'r2' }, 'restored'],
  ])('%s', (_what, known, found, reason) => {
    expect(reasonToHold({ known, found, isUnused: false }, false)).toBe(reason);
  });

  it('whatever it is, where the operator asks for it', () => {
    expect(reasonToHold({ known: place, found: place, isUnused: false }, true)).toBe('asked');
  });

  it('on a new timeline, if no worker had used it for a while', () => {
    const since = (found: Place) => reasonToHold({ known: place, found, isUnused: true }, false);
    expect(since({ ...place, timeline: '00000002' })).toBe('recovered');
    expect(since(place)).toBeUndefined();
    expect(since({ ...place, timeline: null })).toBeUndefined();
    expect(reasonToHold({ known: unknown, found: place, isUnused: true }, false)).toBeUndefined();
  });

  it('says so in a sentence', () => {
    const hold = { reason: 'restored', at: new Date('2026-11-24T09:30:00Z'), dataUntil: null } as const;
    expect(describeHold(hold)).toBe(
      'Nothing is sent since 2026-11-24T09:30:00.000Z: it was restored from a backup. An operator ends it with: ' +
        'npm run cli -- release.',
    );
  });
});
