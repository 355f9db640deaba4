/**
 * Parses customers' URLs strictly. Refuses what the WHATWG parser would silently repair. Where the parser normalises a
 * part, the normal form is judged.
 */
import { isIP } from 'node:net';
import { GuardedHttpError } from './http-errors.ts';

/** A URL whose text is acceptable. Its IP addresses must still be judged. */
export interface Target {
  /** The canonical URL, to store and to show. */
  readonly href: string;
  readonly secure: boolean;
  /**
   * Host name or IP address, without brackets and trailing dot. It is used for SNI, the certificate check and the name
   * lookup.
   */
  readonly host: string;
  readonly isLiteral: boolean;
  readonly port: number;
  /** `scheme://host[:port]` without trailing dot, for the Host header. */
  readonly origin: string;
  readonly path: string;
}

const MAX_URL_LENGTH = 2048;
const TOO_LONG = `the URL is longer than ${MAX_URL_LENGTH} characters`;

const refuse = (message: string): never => {
  throw new GuardedHttpError('invalid_url', message);
};

/**
 * Returns the parts of an absolute http or https URL, or only https with `requireHttps`. Different spellings of IPv4
 * and international names become canonical. Throws `GuardedHttpError` with `invalid_url` (R32, R160–R162).
 */
export function parseTarget(url: unknown, requireHttps: boolean): Target {
  if (typeof url !== 'string') return refuse('the URL must be a string');
  if (url.length > MAX_URL_LENGTH) return refuse(TOO_LONG);
  // The parser trims, drops or rewrites these characters. So the used URL would differ from the URL that a person
  // reads.
  if (/[\s\p{Cc}\\]/u.test(url))
    return refuse('the URL contains a space, a control character or a backslash');
  const authority = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(url)?.[1];
  if (!authority) return refuse('the URL must be absolute: https://host/path');
  if (authority.includes('@')) return refuse('the URL must not contain a user name or password');
  if (!URL.canParse(url)) return refuse('the URL cannot be parsed');
  const parsed = new URL(url);
  // Escapes and the ASCII form of the host may make the URL longer. The longer form is stored and used, so it must not
  // exceed the limit either.
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
