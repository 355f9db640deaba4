import { describe, expect, it } from '@jest/globals';
import { joinParts, type PartOutcome } from '../../src/channels/sms/smpp/long-message.ts';

describe('the outcome of a long SMS', () => {
  const unasked: PartOutcome = {
    kind: 'unavailable',
    asked: false,
    reason: 'the message expired before it could be sent',
    definitelyNotSent: true,
    onlyThis: true,
  };

  it('is that nobody asked the carrier if nobody asked about its first part', () => {
    expect(joinParts([unasked], 2)).toMatchObject({ definitelyNotSent: true, onlyThis: true, asked: false });
  });

  it('is never that if another part may have left', () => {
    const joined = joinParts([{ kind: 'accepted', sid: '1' }, unasked], 2);
    expect(joined).toMatchObject({ kind: 'unavailable', asked: true, onlyThis: true });
    expect(joined).not.toHaveProperty('definitelyNotSent');
  });

  it.each<PartOutcome>([
    { kind: 'rejected', asked: true, code: 'ESME_RINVDSTADR', reason: 'no such number' },
    { kind: 'unavailable', asked: true, reason: 'no answer within 10 s' },
  ])('says that the carrier was asked if it got a part and took none: $kind (R588)', (part) => {
    expect(joinParts([part], 2)).toMatchObject({ kind: part.kind, asked: true });
    expect(joinParts([part, unasked], 2)).toMatchObject({ kind: part.kind, asked: true });
  });
});
