import { describe, expect, it } from '@jest/globals';
import { encodeGsm7, splitGsm7 } from '../../src/channels/sms/smpp/gsm7.ts';
import { smpp } from '../../src/channels/sms/smpp/pdu.ts';
import { toWireText, withConcatenation } from '../../src/channels/sms/smpp/submit-sm.ts';

const BASIC =
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?' +
  '¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà';
const EXTENSION = '\f^{}\\[~]|€';

import { describeText } from '../../src/domain/messages/sms-text.ts';

describe('encodeGsm7', () => {
  it('gives each basic character its GSM 03.38 octet', () => {
    const codes = [...Array(128).keys()].filter((code) => code !== 0x1b);
    expect([...encodeGsm7(BASIC)!]).toEqual(codes);
  });

  it('writes extension characters as ESC and a second octet', () => {
    expect(encodeGsm7(EXTENSION)!.toString('hex')).toBe('1b0a1b141b281b291b2f1b3c1b3d1b3e1b401b65');
  });

  it("agrees with the smpp package's alphabet", () => {
    const text = BASIC + EXTENSION;
    expect(smpp.gsmCoder.decode(encodeGsm7(text)!, 0)).toBe(text);
  });

  it.each(['ç', 'ê', '`', '\t', '\u001b', 'Ŵ', '中', '😀', '\u0000', '’'])('refuses %j', (char) => {
    expect(encodeGsm7(`a${char}b`)).toBeUndefined();
  });

  it('encodes an empty text as no octets', () => {
    expect(encodeGsm7('')).toHaveLength(0);
  });
});

describe('splitGsm7', () => {
  it('fills each part to the last septet', () => {
    const parts = splitGsm7(encodeGsm7('a'.repeat(307))!, 153);
    expect(parts.map((part) => part.length)).toEqual([153, 153, 1]);
  });

  it('never splits an escape sequence', () => {
    const parts = splitGsm7(encodeGsm7(`${'a'.repeat(152)}€${'b'.repeat(10)}`)!, 153);
    expect(parts.map((part) => part.length)).toEqual([152, 12]);
    expect(parts[1]!.subarray(0, 2).toString('hex')).toBe('1b65');
  });

  it('keeps an escape sequence that just fits', () => {
    const parts = splitGsm7(encodeGsm7(`${'a'.repeat(151)}€b`)!, 153);
    expect(parts.map((part) => part.length)).toEqual([153, 1]);
  });
});

describe('toWireText', () => {
  const sizes = (text: string, encoding: 'GSM-7' | 'UCS-2') => {
    const wire = toWireText(text, encoding);
    return typeof wire === 'string' ? wire : wire.parts.map((part) => part.length);
  };

  it.each([
    ['GSM-7', 'a'.repeat(160), [160]],
    ['GSM-7', 'a'.repeat(161), [153, 8]],
    ['GSM-7', '€'.repeat(80), [160]],
    ['GSM-7', '€'.repeat(81), [152, 10]],
    ['UCS-2', 'ж'.repeat(70), [140]],
    ['UCS-2', 'ж'.repeat(71), [134, 8]],
  ] as const)('cuts %s', (encoding, text, expected) => {
    expect(sizes(text, encoding)).toEqual(expected);
  });

  it('never splits a surrogate pair', () => {
    expect(sizes(`${'ж'.repeat(66)}😀${'ж'.repeat(10)}`, 'UCS-2')).toEqual([132, 24]);
  });

  it('makes as many parts as the domain counts segments', () => {
    for (const unit of ['a', '€', 'a€', 'ж', '😀', 'ж😀', 'a{b}€']) {
      for (const times of [1, 23, 39, 69, 70, 71, 80, 81, 134, 153, 154, 160, 161, 200, 306, 307, 335]) {
        const text = `x${unit.repeat(times)}`;
        const { encoding, segments } = describeText(text);
        expect(sizes(text, encoding)).toHaveLength(segments);
      }
    }
  });

  it('writes UCS-2 big-endian', () => {
    const wire = toWireText('aж😀', 'UCS-2');
    expect(typeof wire === 'string' ? wire : wire.parts[0]!.toString('hex')).toBe('00610436d83dde00');
  });

  it('says why a text cannot be sent', () => {
    expect(sizes('中', 'GSM-7')).toMatch(/GSM-7/);
    expect(sizes('a'.repeat(153 * 255 + 1), 'GSM-7')).toMatch(/255 parts/);
  });

  it('puts the concatenation header before a part', () => {
    expect(withConcatenation(Buffer.from('hi'), 0xab, 1, 3).toString('hex')).toBe('050003ab03026869');
  });
});
