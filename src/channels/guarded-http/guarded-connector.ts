/** Opens sockets to one judged IP address, and judges the remote address that was reached. */
import { connect as netConnect, type Socket, type TcpNetConnectOpts } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import type { buildConnector } from 'undici';
import type { AddressGuard } from './address-guard.ts';
import { type CertificateDates, connectFailure, GuardedHttpError, tlsFailure } from './http-errors.ts';

/** Opens a TCP connection to an IP address. Only tests replace it. */
export type Dial = (options: TcpNetConnectOpts) => Socket;

/** Additional trusted certificates, for tests. Default: Node's own. */
export interface TlsTrust {
  readonly ca?: string | readonly string[];
}

export interface GuardedConnectorOptions {
  readonly guard: AddressGuard;
  /** The IP address that was resolved and judged. Given here, so that the name is not resolved a second time. */
  readonly address: string;
  readonly port: number;
  /** The host name for SNI and the certificate check. If the URL has an IP address, it is that address. */
  readonly host: string;
  readonly isLiteral: boolean;
  readonly secure: boolean;
  readonly tls?: TlsTrust | undefined;
  readonly dial?: Dial | undefined;
  /** Returns the time (performance.now, ms) by which a new connection must be established. */
  readonly connectBy: () => number;
}

export interface GuardedConnector {
  readonly connect: buildConnector.connector;
  /** Destroys every socket that is still connecting or in its TLS handshake. */
  abort(): void;
}

/**
 * Creates an undici connector that connects only to one IP address. The guard judges the address before connecting. It
 * judges the socket's remote address before any byte is sent, also before the TLS handshake (R32). Failures are
 * `GuardedHttpError`s. A socket that is not established by `connectBy` is destroyed.
 */
export function createGuardedConnector(options: GuardedConnectorOptions): GuardedConnector {
  const { guard, address, port, host } = options;
  const dial = options.dial ?? netConnect;
  const endpoint = `${address.includes(':') ? `[${address}]` : address}:${port}`;
  const connecting = new Set<Socket>();
  const late = () => new GuardedHttpError('timeout', `${endpoint} did not take the connection in time`, true);

  const connect: buildConnector.connector = (_, callback) => {
    const leftMs = options.connectBy() - performance.now();
    const refusal = refusalOf(guard, address, port);
    // undici also requests sockets for requests that have already timed out. Refuse those.
    const denied = refusal ?? (leftMs <= 0 ? late() : undefined);
    if (denied !== undefined) {
      queueMicrotask(() => callback(denied, null));
      return;
    }
    const socket = dial({
      host: address,
      port,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: 60_000,
    });
    connecting.add(socket);
    let settled = false;
    let handshaking = false;
    const settle = (error: GuardedHttpError | undefined, established: Socket = socket) => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      connecting.delete(socket);
      if (error === undefined) return callback(null, established);
      established.destroy();
      socket.destroy();
      callback(error, null);
    };
    const timer = setTimeout(() => settle(late()), Math.max(1, Math.ceil(leftMs)));
    const broken = (error: unknown) => {
      if (!handshaking) settle(connectFailure(endpoint, error));
    };
    // Keep both listeners for the life of the socket, because an error without a listener would end the process.
    socket.on('error', broken);
    socket.on('close', () => broken({ code: 'ECONNRESET' }));
    socket.once('connect', () => {
      const remote = socket.remoteAddress;
      if (remote === undefined) return broken({ code: 'ECONNRESET' });
      if (!guard.isSame(remote, address) || !guard.isAllowed(remote)) return settle(notPublic(remote));
      if (!options.secure) return settle(undefined);
      handshaking = true;
      handshake(socket, settle);
    });
  };

  const handshake = (
    socket: Socket,
    settle: (error: GuardedHttpError | undefined, socket: Socket) => void,
  ): void => {
    const secured = tlsConnect({
      socket,
      host,
      ...(options.isLiteral ? {} : { servername: host }),
      ALPNProtocols: ['http/1.1'],
      ...(options.tls?.ca === undefined ? {} : { ca: [options.tls.ca].flat() }),
    });
    let dates: CertificateDates = {};
    // Read the dates here: Node emits 'secure' before it judges the certificate. After a refusal the certificate can no
    // longer be read.
    secured.prependListener('secure', () => {
      dates = secured.getPeerCertificate() ?? {};
    });
    secured.once('secureConnect', () => settle(undefined, secured));
    secured.on('error', (error) => settle(tlsFailure(host, error, dates), secured));
    secured.on('close', () => settle(tlsFailure(host, { code: 'ECONNRESET' }), secured));
  };

  const abort = () => {
    for (const socket of connecting) socket.destroy();
  };
  return { connect, abort };
}

/** Says why this port of this address must not be used. Undefined if it may be used. */
export function refusalOf(
  guard: AddressGuard,
  address: string,
  port: number,
  hostname?: string,
): GuardedHttpError | undefined {
  if (!guard.isAllowed(address)) return notPublic(address, hostname);
  const fault = guard.portFault(address, port);
  return fault === undefined ? undefined : new GuardedHttpError('invalid_url', fault);
}

/** Returns the refusal of an address, with details for the operator. */
function notPublic(address: string, hostname?: string): GuardedHttpError {
  const which = hostname === undefined || hostname === address ? '' : ` (${hostname})`;
  return new GuardedHttpError('address_not_public', `address ${address}${which} is not public`);
}
