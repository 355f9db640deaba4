import { describe, expect, it } from '@jest/globals';
import { describeReplica } from '../../src/cli/replica-row.ts';
import type { Following } from '../../src/domain/ports/replica.ts';

const FOLLOWS: Following = {
  isReceiving: true,
  timeline: '00000002',
  primaryTimeline: '00000002',
  isPaused: false,
  hasCaughtUp: true,
  behindBytes: 0,
  behindSeconds: 0,
};
const describeWith = (following: Partial<Following>) =>
  describeReplica({
    version: '18.4',
    user: 'gateway',
    isSameDatabase: true,
    following: { ...FOLLOWS, ...following },
  });

describe('the row of the replica (R586)', () => {
  it('says how far behind it was', () => {
    expect(describeWith({})).toBe('PostgreSQL 18.4, a standby of the primary, 0 bytes behind');
    expect(describeWith({ behindBytes: 512, behindSeconds: 0.26 })).toBe(
      'PostgreSQL 18.4, a standby of the primary, 512 bytes and 0.3 s behind when asked, and caught up',
    );
    expect(describeWith({ behindBytes: 512, behindSeconds: null })).toBe(
      'PostgreSQL 18.4, a standby of the primary, 512 bytes behind when asked, and caught up',
    );
  });

  it('says if a standby receives nothing', () => {
    const alone = { isReceiving: false, timeline: null, behindBytes: 512, behindSeconds: 60 };
    expect(() => describeWith(alone)).toThrow(
      'PostgreSQL 18.4, a standby that receives nothing from the primary, 512 bytes and 60.0 s behind: check ' +
        'primary_conninfo and its log',
    );
  });

  it('names the timelines of a standby that follows a former primary', () => {
    expect(() => describeWith({ timeline: '00000001' })).toThrow(
      'PostgreSQL 18.4, a standby of a former primary: it follows timeline 00000001, and the primary is on 00000002. Let ' +
        'it follow the primary, or make it anew from a backup of the primary',
    );
  });
});
