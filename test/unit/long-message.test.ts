import { describe, expect, it } from '@jest/globals';
import { joinParts, type PartOutcome } from '../../src/channels/sms/smpp/long-message.ts';

describe('the outcome of a long SMS', () => {
  const unasked: PartOutcome = {
    kind: 'unavailable',
    reason: 'the message expired before it could be sent',
    definitelyNotSent: true,
    onlyThis: true,
    unasked: true,
  };

  it('is that nobody asked the carrier if nobody asked about its first part', () => {
    expect(joinParts([unasked], 2)).toMatchObject({ definitelyNotSent: true, onlyThis: true, unasked: true });
  });

  it('is never that if another part may have left', () => {
    const joined = joinParts([{ kind: 'accepted', sid: '1' }, unasked], 2);
    expect(joined).toMatchObject({ kind: 'unavailable', onlyThis: true });
    expect(joined).not.toHaveProperty('unasked');
    expect(joined).not.toHaveProperty('definitelyNotSent');
  });
});
