/**
 * Types for the parts of `smpp` 0.5.1 that are used: its PDU codec, its error names and, in tests, its server. The
 * field types are those without the library's filters, which `pdu.ts` removes: octets stay octets and times stay
 * strings.
 */
declare module 'smpp' {
  import type { EventEmitter } from 'node:events';
  import type { Server as NetServer, Socket } from 'node:net';

  interface PduFields {
    command_status?: number;
    sequence_number?: number;
    system_id?: string;
    password?: string;
    system_type?: string;
    interface_version?: number;
    source_addr_ton?: number;
    source_addr_npi?: number;
    source_addr?: string;
    dest_addr_ton?: number;
    dest_addr_npi?: number;
    destination_addr?: string;
    esm_class?: number;
    validity_period?: string;
    registered_delivery?: number;
    data_coding?: number | null;
    short_message?: Buffer;
    message_id?: string;
    message_payload?: Buffer;
    message_state?: number;
    network_error_code?: Buffer;
    receipted_message_id?: string;
    sar_total_segments?: number;
  }

  interface Pdu extends PduFields {
    readonly command: string;
    readonly command_id: number;
    command_status: number;
    sequence_number: number;
    isResponse(): boolean;
    response(fields?: PduFields): Pdu;
    toBuffer(): Buffer;
  }

  interface FieldDefinition {
    filter?: object;
  }

  interface Session extends EventEmitter {
    readonly socket: Socket;
    /** Returns false if the socket can no longer be written. */
    send(pdu: Pdu, onResponse?: (response: Pdu) => void): boolean;
    destroy(): void;
    on(event: 'pdu', listener: (pdu: Pdu) => void): this;
    on(event: 'error', listener: (error: Error) => void): this;
    on(event: 'close', listener: () => void): this;
  }

  interface Server extends NetServer {
    readonly sessions: readonly Session[];
  }

  const smpp: {
    readonly PDU: {
      new (command: string, fields?: PduFields): Pdu;
      /** Parses one frame. Throws RangeError if its body is incomplete. */
      new (frame: Buffer): Pdu;
      maxLength: number;
    };
    readonly errors: Readonly<Record<string, number>>;
    readonly commands: Readonly<
      Record<string, { readonly params?: Readonly<Record<string, FieldDefinition>> }>
    >;
    readonly tlvs: Readonly<Record<string, FieldDefinition>>;
    readonly gsmCoder: { decode(octets: Buffer, table: number): string };
    createServer(options: { key?: string; cert?: string }, listener: (session: Session) => void): Server;
  };
  export default smpp;
  export type { Pdu, PduFields, Server, Session };
}
