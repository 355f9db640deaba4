/** Reads a customer's URL strictly: what the WHATWG parser would silently repair is refused, what it canonicalises is judged canonical. */
import { isIP } from 'node:net';
import { GuardedHttpError } from './http-errors.ts';

/** A URL that may be dialled as far as its text goes; its addresses are still to be checked. */
export interface Target {
  /** The canonical URL, to store and to show. */
  readonly href: string;
  readonly secure: boolean;
  /** Name or address: no brackets, no trailing root dot; what SNI, the certificate check and the lookup use. */
  readonly host: string;
  readonly isLiteral: boolean;
  readonly port: number;
  /** `scheme://host[:port]` without a trailing root dot: what the Host header is made from. */
  readonly origin: string;
  readonly path: string;
}

const MAX_URL_LENGTH = 2048;
const TOO_LONG = `the URL is longer than ${MAX_URL_LENGTH} characters`;

const refuse = (message: string): never => {
  throw new GuardedHttpError('invalid_url', message);
};

/**
 * The parts of an absolute http(s) URL (https only when `requireHttps`), IPv4 in all spellings and IDN made
 * canonical. Throws `GuardedHttpError` `invalid_url` (R32, R160–R162).
 */
export function parseTarget(url: unknown, requireHttps: boolean): Target {
  if (typeof url !== 'string') return refuse('the URL must be a string');
  if (url.length > MAX_URL_LENGTH) return refuse(TOO_LONG);
  // The parser trims, strips and rewrites these, so that the URL read by a human is not the URL dialled.
  if (/[\s\p{Cc}\\]/u.test(url))
    return refuse('the URL contains a space, a control character or a backslash');
  const authority = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(url)?.[1];
  if (!authority) return refuse('the URL must be absolute: https://host/path');
  if (authority.includes('@')) return refuse('the URL must not contain a user name or password');
  if (!URL.canParse(url)) return refuse('the URL cannot be parsed');
  const parsed = new URL(url);
  // Escapes and the host's ASCII form make it longer, and it is this form that is stored and dialled.
  if (parsed.href.length > MAX_URL_LENGTH) return refuse(`${TOO_LONG} once it is escaped`);
  const secure = parsed.protocol === 'https:';
  if (requireHttps && !secure) return refuse('the URL must use https');
  if (!secure && parsed.protocol !== 'http:') return refuse('the URL must use http or https');
  const port = parsed.port === '' ? (secure ? 443 : 80) : Number(parsed.port);

  const isV6 = parsed.hostname.startsWith('[');
  const host = isV6 ? parsed.hostname.slice(1, -1) : parsed.hostname.replace(/\.$/, '');
  const isLiteral = isIP(host) !== 0;
  if (!isLiteral && !isName(host)) return refuse('the host name is not valid');
  const origin = `${parsed.protocol}//${isV6 ? `[${host}]` : host}${parsed.port === '' ? '' : `:${parsed.port}`}`;
  return { href: parsed.href, secure, host, isLiteral, port, origin, path: parsed.pathname + parsed.search };
}

const isName = (host: string): boolean =>
  host.length > 0 &&
  host.length <= 253 &&
  host.split('.').every((label) => label.length > 0 && label.length <= 63);
