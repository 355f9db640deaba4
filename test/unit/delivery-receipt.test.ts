import { describe, expect, it } from '@jest/globals';
import type { PduFields } from 'smpp';
import { readIncoming } from '../../src/channels/sms/smpp/delivery-receipt.ts';

const RECEIPT: PduFields = { esm_class: 0x04, source_addr: '256700000001', data_coding: 0 };

function ofText(text: string, fields: PduFields = {}) {
  return readIncoming({ ...RECEIPT, short_message: Buffer.from(text, 'latin1'), ...fields });
}

const delivered = (sid: string) => ({
  kind: 'report',
  report: { sid, to: '256700000001', status: 'delivered' },
});
const failed = (sid: string, code: string) => ({
  kind: 'report',
  report: { sid, to: '256700000001', status: 'failed', code, reason: expect.any(String) },
});

describe('delivery receipts as text', () => {
  it.each([
    'id:0a1B_2-c sub:001 dlvrd:001 submit date:2611201200 done date:2611201201 stat:DELIVRD err:000 text:hello',
    'ID:0a1B_2-c SUB:001 DLVRD:001 SUBMIT DATE:2611201200 DONE DATE:2611201201 STAT:delivrd ERR:000 TEXT:hello',
    'stat:DELIVRD id:0a1B_2-c',
    'submit date:2611201200 done date:2611201201 err:000 stat:DELIVRD sub:001 id:0a1B_2-c',
    'id: 0a1B_2-c sub: 001 stat: DELIVRD err: 000 text: ',
    'id:0a1B_2-c, stat:DELIVERED, err:0',
    'id:0a1B_2-c\nstatus:DELIVRD\n',
    'id:0a1B_2-c text:hello stat:DELIVRD',
    'id:0a1B_2-c stat:DELIVRD\0',
  ])('parses %j', (text) => {
    expect(ofText(text)).toEqual(delivered('0a1B_2-c'));
  });

  it.each([
    ['UNDELIV', '011', 'UNDELIV/011'],
    ['UNDELIVERABLE', '011', 'UNDELIVERABLE/011'],
    ['EXPIRED', '000', 'EXPIRED'],
    ['DELETED', '0', 'DELETED'],
    ['REJECTD', '69', 'REJECTD/69'],
    ['REJECTED', '0x45', 'REJECTED/0x45'],
  ])('%s with err %s means failed', (stat, err, code) => {
    expect(ofText(`id:7 sub:001 dlvrd:000 stat:${stat} err:${err} text:`)).toEqual(failed('7', code));
  });

  it('works without err', () => {
    expect(ofText('id:7 stat:UNDELIV')).toEqual(failed('7', 'UNDELIV'));
  });

  it.each(['ACCEPTD', 'ENROUTE', 'UNKNOWN', 'BUFFERED'])('%s is not a final state', (stat) => {
    expect(ofText(`id:7 stat:${stat} err:000`)).toEqual({ kind: 'undecided', stat });
  });

  it('ignores a status in the quoted message text', () => {
    expect(ofText('id:7 stat:UNDELIV err:001 text:id:8 stat:DELIVRD')).toEqual(failed('7', 'UNDELIV/001'));
  });

  it.each(['', 'id: sub:001 stat:DELIVRD', 'id:7 sub:001', 'stat:DELIVRD', 'hello'])(
    'finds no receipt in %j',
    (text) => {
      expect(ofText(text)).toEqual({ kind: 'unreadable' });
    },
  );

  it('reads UCS-2, a user data header and message_payload', () => {
    const text = 'id:7 stat:DELIVRD';
    const ucs2 = Buffer.from(text, 'utf16le').swap16();
    expect(ofText('', { short_message: ucs2, data_coding: 8 })).toEqual(delivered('7'));
    const withHeader = Buffer.concat([Buffer.from('050003010101', 'hex'), Buffer.from(text)]);
    expect(ofText('', { short_message: withHeader, esm_class: 0x44 })).toEqual(delivered('7'));
    expect(ofText('', { message_payload: Buffer.from(text) })).toEqual(delivered('7'));
  });

  it('omits a recipient that is not a number', () => {
    expect(ofText('id:7 stat:DELIVRD', { source_addr: 'SMSC' })).toEqual({
      kind: 'report',
      report: { sid: '7', status: 'delivered' },
    });
  });
});

describe('delivery receipts as TLVs', () => {
  it.each([
    [2, { kind: 'report', report: { sid: 'T1', to: '256700000001', status: 'delivered' } }],
    [3, failed('T1', 'EXPIRED/017')],
    [4, failed('T1', 'DELETED/017')],
    [5, failed('T1', 'UNDELIV/017')],
    [8, failed('T1', 'REJECTD/017')],
    [1, { kind: 'undecided', stat: 'ENROUTE' }],
    [6, { kind: 'undecided', stat: 'ACCEPTD' }],
    [7, { kind: 'undecided', stat: 'UNKNOWN' }],
  ])('message_state %d', (state, expected) => {
    const incoming = readIncoming({
      ...RECEIPT,
      receipted_message_id: 'T1',
      message_state: state,
      network_error_code: Buffer.from([3, 0, 17]),
    });
    expect(incoming).toEqual(expected);
  });

  it('TLVs win over the text', () => {
    expect(ofText('id:8 stat:DELIVRD err:000', { receipted_message_id: 'T1', message_state: 5 })).toEqual(
      failed('T1', 'UNDELIV'),
    );
  });

  it('the text fills in missing TLVs', () => {
    expect(ofText('id:8 stat:EXPIRED err:003', { receipted_message_id: 'T1' })).toEqual(
      failed('T1', 'EXPIRED/003'),
    );
  });

  it('TLVs make a receipt without esm_class', () => {
    expect(
      readIncoming({ receipted_message_id: 'T1', message_state: 2, source_addr: '256700000001' }),
    ).toEqual(delivered('T1'));
  });
});

describe('messages from subscribers', () => {
  it('are not receipts, even when they look like one', () => {
    expect(ofText('id:7 stat:DELIVRD err:000', { esm_class: 0 })).toMatchObject({ kind: 'mo' });
    expect(ofText('hello', { esm_class: 0x40 })).toMatchObject({ kind: 'mo' });
  });
});
