/** The reasons why a request of the guarded client fails. */
import { truncate } from '../../domain/text.ts';

/** All ways in which a request can end without a complete answer. */
export type HttpErrorCode =
  | 'invalid_url'
  | 'name_not_found'
  | 'name_lookup_failed'
  | 'address_not_public'
  | 'connection_refused'
  | 'unreachable'
  | 'connection_reset'
  | 'tls_error'
  | 'timeout'
  | 'bad_response'
  | 'client_closed'
  | 'unexpected';

/**
 * A failure of the guarded client. `message` is for the operator: it names hosts and IP addresses, never headers,
 * bodies or paths. Customers get the text of `customerMessage`.
 */
export class GuardedHttpError extends Error {
  readonly code: HttpErrorCode;
  /** True if certainly no byte of the request was sent, so that another address may be tried. */
  readonly beforeSending: boolean;

  constructor(code: HttpErrorCode, message: string, beforeSending = false) {
    super(message);
    this.name = 'GuardedHttpError';
    this.code = code;
    this.beforeSending = beforeSending;
  }
}

/**
 * Codes that mean: no public address was found. Customers get the same message for all of them. Different messages
 * would reveal which names exist in the operator's network.
 */
const NO_PUBLIC_ADDRESS: ReadonlySet<HttpErrorCode> = new Set([
  'name_not_found',
  'name_lookup_failed',
  'address_not_public',
]);

/**
 * Returns the message of a failure for customers. About addresses that are not public, it reveals neither the address
 * nor what listens there. `timedOutAfterMs` is set if an attempt used all its time. Its length may be shown, because
 * customers can measure it anyway.
 */
export function customerMessage(
  { code, message }: GuardedHttpError,
  isInside: boolean,
  timedOutAfterMs: number | undefined,
): string {
  if (NO_PUBLIC_ADDRESS.has(code)) return 'the host does not resolve to a public address';
  if (!isInside || code === 'invalid_url' || code === 'client_closed') return message;
  return timedOutAfterMs === undefined
    ? 'the connection was refused, broken off or not answered in HTTP'
    : `timed out after ${inSeconds(timedOutAfterMs)} s`;
}

const inSeconds = (ms: number): number => Number((ms / 1000).toFixed(1));

const errnoOf = (error: unknown): string => {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : '';
};

/** A timeout, with a text such as `timed out after 10 s while …`. The time is the limit of the whole attempt (R32). */
export function timedOut(timeoutMs: number, doing: string): GuardedHttpError {
  return new GuardedHttpError('timeout', `timed out after ${inSeconds(timeoutMs)} s ${doing}`);
}

/** The failure if the name lookup used all the time of the attempt. */
export function lookupTimedOut(timeoutMs: number, hostname: string): GuardedHttpError {
  const words = `timed out after ${inSeconds(timeoutMs)} s looking up ${hostname}`;
  return new GuardedHttpError('name_lookup_failed', words);
}

/** The failure of a name lookup. An unknown name and a failing name server have different messages. */
export function lookupFailure(hostname: string, error: unknown): GuardedHttpError {
  const code = errnoOf(error);
  if (code === 'ENOTFOUND' || code === 'ENODATA' || code === 'ENONAME') {
    return new GuardedHttpError('name_not_found', `name ${truncate(hostname)} not found`);
  }
  const why = code === 'ETIMEOUT' ? 'the name server did not answer' : code || 'no answer';
  return new GuardedHttpError(
    'name_lookup_failed',
    `name ${truncate(hostname)} could not be looked up (${why})`,
  );
}

/** The failure of a TCP connection that could not be established. */
export function connectFailure(endpoint: string, error: unknown): GuardedHttpError {
  const code = errnoOf(error);
  switch (code) {
    case 'ECONNREFUSED':
      return new GuardedHttpError('connection_refused', `connection to ${endpoint} refused`, true);
    case 'ECONNRESET':
      return new GuardedHttpError('connection_reset', `connection to ${endpoint} reset`, true);
    case 'ETIMEDOUT':
      return new GuardedHttpError('timeout', `${endpoint} did not answer the connection request`, true);
    case 'ENETUNREACH':
    case 'EHOSTUNREACH':
    case 'EADDRNOTAVAIL':
    case 'ENETDOWN':
    case 'EHOSTDOWN':
    case 'EACCES':
    case 'EAFNOSUPPORT':
      return new GuardedHttpError('unreachable', `${endpoint} cannot be reached from here (${code})`, true);
    default:
      return new GuardedHttpError(
        'unexpected',
        `could not connect to ${endpoint} (${code || 'unknown'})`,
        true,
      );
  }
}

/**
 * The dates of a certificate as Node reports them. They are missing if the handshake ended before the certificate
 * arrived.
 */
export interface CertificateDates {
  readonly valid_from?: string;
  readonly valid_to?: string;
}

const day = (date: string | undefined): string | undefined => {
  const time = date === undefined ? Number.NaN : Date.parse(date);
  return Number.isNaN(time) ? undefined : new Date(time).toISOString().slice(0, 10);
};

/** The failure of a TLS handshake, or of a certificate that was refused. */
export function tlsFailure(hostname: string, error: unknown, dates: CertificateDates = {}): GuardedHttpError {
  const code = errnoOf(error);
  return new GuardedHttpError('tls_error', tlsWords(hostname, code, dates));
}

function tlsWords(hostname: string, code: string, dates: CertificateDates): string {
  const until = day(dates.valid_to);
  const from = day(dates.valid_from);
  switch (code) {
    case 'CERT_HAS_EXPIRED':
      return until === undefined ? 'certificate expired' : `certificate expired on ${until}`;
    case 'CERT_NOT_YET_VALID':
      return from === undefined ? 'certificate is not valid yet' : `certificate is not valid before ${from}`;
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
      return 'certificate is self-signed and not trusted';
    case 'SELF_SIGNED_CERT_IN_CHAIN':
      return 'certificate chain ends in a root that is not trusted';
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
      return 'certificate chain is incomplete or its issuer is not trusted';
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `certificate is not for ${hostname}`;
    case 'ECONNRESET':
    case 'EPIPE':
      return 'the connection was closed during the TLS handshake';
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
    case 'ERR_SSL_PACKET_LENGTH_TOO_LONG':
      return `TLS handshake failed: the port does not speak TLS (${code})`;
    default:
      return `TLS handshake failed (${code || 'unknown'})`;
  }
}

/** Returns the failure of a request that may have been sent. `answering`: the status line had arrived. */
export function exchangeFailure(error: unknown, answering: boolean): GuardedHttpError {
  if (error instanceof GuardedHttpError) return error;
  const code = errnoOf(error);
  const when = answering ? 'while the answer was read' : 'before an answer came';
  if (code === 'ECONNRESET' || code === 'EPIPE' || code === 'ECONNABORTED') {
    return new GuardedHttpError('connection_reset', `connection reset ${when}`);
  }
  if (code === 'ETIMEDOUT') return new GuardedHttpError('timeout', `the connection died ${when}`);
  if (code === 'UND_ERR_SOCKET') {
    const words = (error as Error).message;
    // undici refuses these two kinds of answers and has no option to accept them.
    if (words === 'bad response')
      return new GuardedHttpError('bad_response', 'answered 100 Continue, which was not asked for');
    if (words === 'bad upgrade')
      return new GuardedHttpError('bad_response', 'answered with an upgrade, which was not asked for');
    return new GuardedHttpError('connection_reset', `connection closed ${when}`);
  }
  if (code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') {
    return new GuardedHttpError('bad_response', 'the answer is shorter or longer than its Content-Length');
  }
  if (code === 'UND_ERR_HEADERS_OVERFLOW') {
    return new GuardedHttpError('bad_response', 'the headers of the answer are too large');
  }
  if (code.startsWith('HPE_') || (error as Error | null)?.name === 'HTTPParserError') {
    return new GuardedHttpError('bad_response', 'the answer is not HTTP/1.1');
  }
  if (code.startsWith('ERR_SSL_') || code === 'EPROTO') {
    return new GuardedHttpError('tls_error', `the TLS connection broke ${when} (${code})`);
  }
  if (code === 'UND_ERR_DESTROYED' || code === 'UND_ERR_CLOSED') {
    return new GuardedHttpError('client_closed', 'the gateway is shutting down');
  }
  const name = error instanceof Error ? error.name : 'unknown';
  return new GuardedHttpError('unexpected', `the request failed (${code || name})`);
}
