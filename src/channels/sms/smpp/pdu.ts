/**
 * Converts between PDUs and bytes. A **frame** is one PDU with its length header. The `smpp` package encodes and
 * decodes the fields. Framing and the socket are done here, because the package's own session has three faults:
 * - It keeps a callback for every request that is never answered.
 * - It stops reading after one malformed PDU.
 * - It does not set `noDelay`.
 */
import smpp, { type Pdu, type PduFields } from 'smpp';

// Remove the package's filters, because they change texts and times. They read ASCII receipts as GSM-7, so that `_` in
// a message id becomes `§`. They also reject a PDU with a short callback_num or validity.
for (const definition of [
  ...Object.values(smpp.commands).flatMap((command) => Object.values(command.params ?? {})),
  ...Object.values(smpp.tlvs),
]) {
  delete definition.filter;
}

const HEADER_OCTETS = 16;
/** Largest PDU in octets: a message_payload of 64 KB, which SMPP 3.4 allows, and the other fields. */
const MAX_PDU_OCTETS = 128 * 1024;
// The package's own limit is only a quarter of such a payload. Raise it.
smpp.PDU.maxLength = MAX_PDU_OCTETS;
const RESPONSE_BIT = 0x8000_0000;

/** The `smpp` package without its filters: `short_message` stays octets, and times stay strings. */
export { smpp };

/** Encodes one PDU. Throws TypeError or RangeError if a field does not fit its type. */
export function encodePdu(command: string, fields: PduFields): Buffer {
  return new smpp.PDU(command, fields).toBuffer();
}

/** Decodes one frame. Throws RangeError if its body ends inside a field. */
export function decodePdu(frame: Buffer): Pdu {
  return new smpp.PDU(frame);
}

/** Reads the header of a frame. That works even if the body is malformed. */
export function frameHeader(frame: Buffer): { isResponse: boolean; sequence: number } {
  return {
    isResponse: frame.readUInt32BE(4) >= RESPONSE_BIT,
    sequence: frame.readUInt32BE(12),
  };
}

/** Cuts a byte stream into frames. */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0);

  /**
   * Returns the frames that `chunk` completes, in order. Throws RangeError for an impossible length, after which the
   * rest of the stream cannot be read.
   */
  push(chunk: Buffer): Buffer[] {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const frames: Buffer[] = [];
    let offset = 0;
    while (bytes.length - offset >= HEADER_OCTETS) {
      const length = bytes.readUInt32BE(offset);
      if (length < HEADER_OCTETS || length > MAX_PDU_OCTETS) {
        throw new RangeError(`a PDU claims ${length} octets`);
      }
      if (bytes.length - offset < length) break;
      frames.push(bytes.subarray(offset, offset + length));
      offset += length;
    }
    this.#rest = bytes.subarray(offset);
    return frames;
  }
}
