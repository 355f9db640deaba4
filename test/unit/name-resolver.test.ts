import { describe, expect, it } from '@jest/globals';
import { createPacedLookup, createSystemResolver } from '../../src/channels/guarded-http/name-resolver.ts';

describe('paced lookup', () => {
  const counting = () => {
    let clock = 0;
    let lookups = 0;
    const lookup = createPacedLookup(
      async (hostname) => [`${hostname}#${++lookups}`],
      () => clock,
    );
    return { lookup, count: () => lookups, advance: (ms: number) => (clock += ms) };
  };

  it('looks the name up anew for every attempt (R161)', async () => {
    const { lookup } = counting();
    expect(await lookup('a')).toEqual(['a#1']);
    expect(await lookup('a')).toEqual(['a#2']);
    expect(await lookup('b')).toEqual(['b#3']);
  });

  it('shares one lookup between attempts at the same moment', async () => {
    const { lookup, count } = counting();
    await Promise.all(Array.from({ length: 50 }, () => lookup('a')));
    expect(count()).toBe(1);
  });

  it('looks one name up at most 20 times a second, at any rate of attempts', async () => {
    const { lookup, count, advance } = counting();
    for (let i = 0; i < 500; i += 1) await lookup('a');
    expect(count()).toBe(20);
    advance(1_000);
    expect(await lookup('a')).toEqual(['a#21']);
  });

  it('shares a failed lookup, but does not cache it', async () => {
    let fail = true;
    const lookup = createPacedLookup(async () => {
      if (fail) throw new Error('down');
      return ['1.1.1.1'];
    });
    const both = await Promise.allSettled([lookup('a'), lookup('a')]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    fail = false;
    expect(await lookup('a')).toEqual(['1.1.1.1']);
  });
});

describe('system resolver', () => {
  it('resolves localhost without a name server', async () => {
    const resolve = createSystemResolver({ privateNames: false });
    expect(await resolve('localhost')).toContain('127.0.0.1');
    expect(await resolve('any.localhost')).toEqual(['127.0.0.1', '::1']);
  });

  it('rejects with a DNS code for a name that cannot exist', async () => {
    const resolve = createSystemResolver({ privateNames: false });
    await expect(resolve('does-not-exist.invalid')).rejects.toMatchObject({
      code: expect.stringMatching(/^E/),
    });
  });
});
