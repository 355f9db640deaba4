/**
 * PDUs as bytes. **Frame**: one whole PDU, length header included. The `smpp` package encodes and decodes
 * the fields; framing and the socket are ours, because its session keeps a callback for every request that
 * is never answered, stops reading for good after one malformed PDU, and never sets `noDelay`.
 */
import smpp, { type Pdu, type PduFields } from 'smpp';

// The package's filters translate texts and times behind our back: receipts written in ASCII are read as
// GSM-7 (`_` in a message id becomes `§`), and a short callback_num or validity throws the whole PDU away.
for (const definition of [
  ...Object.values(smpp.commands).flatMap((command) => Object.values(command.params ?? {})),
  ...Object.values(smpp.tlvs),
]) {
  delete definition.filter;
}

const HEADER_OCTETS = 16;
/** Room for a message_payload of 64 KB, which SMPP 3.4 allows, and all else that a PDU may have beside it. */
const MAX_PDU_OCTETS = 128 * 1024;
// The package has a bound of its own, at a quarter of what one payload may take.
smpp.PDU.maxLength = MAX_PDU_OCTETS;
const RESPONSE_BIT = 0x8000_0000;

/** The `smpp` package with its filters off: `short_message` is octets, times are strings. */
export { smpp };

/** Makes one PDU ready to write. Throws TypeError or RangeError when a field does not fit its type. */
export function encodePdu(command: string, fields: PduFields): Buffer {
  return new smpp.PDU(command, fields).toBuffer();
}

/** Reads one frame. Throws RangeError when its body ends inside a field. */
export function decodePdu(frame: Buffer): Pdu {
  return new smpp.PDU(frame);
}

/** What a frame's header says; readable even when the body is malformed. */
export function frameHeader(frame: Buffer): { isResponse: boolean; sequence: number } {
  return {
    isResponse: frame.readUInt32BE(4) >= RESPONSE_BIT,
    sequence: frame.readUInt32BE(12),
  };
}

/** Cuts a byte stream into frames. */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0);

  /** The frames completed by `chunk`, in order. Throws RangeError when a length cannot be one: the stream is lost then. */
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
