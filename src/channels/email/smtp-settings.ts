import { readCaBundle } from '../pem.ts';

/** The settings in an `smtp://` or `smtps://` URL. */
export interface SmtpSettings {
  readonly host: string;
  readonly port: number;
  /** True for TLS from the first byte (`smtps:`). */
  readonly isSecure: boolean;
  /** True if nothing may be sent without TLS: with `smtps:`, or with `?requireTLS`, which demands STARTTLS. */
  readonly requiresTls: boolean;
  /**
   * True if the server's certificate is checked. Without required TLS, a server on this machine may have any
   * certificate.
   */
  readonly verifiesCertificate: boolean;
  /** Certificates (PEM) to trust instead of the system's. */
  readonly ca: string | undefined;
  /** The host name in the EHLO command. Default: this machine's name. */
  readonly greeting: string | undefined;
  readonly login: { readonly user: string; readonly password: string } | undefined;
}

const SMTP_PORT = 587;
const SMTPS_PORT = 465;
const PARAMETERS = ['requireTLS', 'name', 'ca'];
/** A host name, or an IP address in brackets (RFC 5321, 4.1.1.1), with at most 255 characters. */
const GREETING = /^(?=.{1,255}$)(([A-Za-z0-9-]{1,63}\.)*[A-Za-z0-9-]{1,63}|\[(IPv6:)?[0-9A-Fa-f.:]+\])$/;
const LOOPBACK = /^(localhost|127\.[0-9.]+|::1)$/;

/**
 * Reads `smtp://user:password@host:587` or `smtps://…` (default port 465). STARTTLS is used if the server offers it.
 * Query parameters: `requireTLS`, `name` (the host name in EHLO) and `ca` (path of a PEM bundle). With `ca` the
 * certificate is always checked. Throws an Error that says what is wrong and never contains the password.
 */
export function parseSmtpUrl(url: string): SmtpSettings {
  const parsed = URL.parse(url);
  if (parsed === null || !/^smtps?:$/.test(parsed.protocol))
    throw new Error('not an smtp:// or smtps:// URL');
  if (parsed.hostname === '') throw new Error('the SMTP URL names no host');
  for (const name of parsed.searchParams.keys()) {
    if (!PARAMETERS.includes(name)) throw new Error(`unknown SMTP parameter ${name}`);
  }
  const isSecure = parsed.protocol === 'smtps:';
  const requireTls = parsed.searchParams.get('requireTLS');
  if (requireTls !== null && !/^(|1|0|true|false)$/.test(requireTls)) {
    throw new Error('SMTP parameter requireTLS must be true or false');
  }
  const requiresTls = isSecure || (requireTls !== null && !/^(0|false)$/.test(requireTls));
  const greeting = parsed.searchParams.get('name') ?? undefined;
  if (greeting !== undefined && !GREETING.test(greeting)) {
    throw new Error(
      'SMTP parameter name must be a host name such as mail.example.com, or an address as [192.0.2.1]',
    );
  }
  const path = parsed.searchParams.get('ca');
  const ca = path === null ? undefined : readCaBundle(path);
  const host = parsed.hostname.replace(/^\[|\]$/g, '');
  const user = decode(parsed.username, 'user');
  return {
    host,
    port: parsed.port === '' ? (isSecure ? SMTPS_PORT : SMTP_PORT) : Number(parsed.port),
    isSecure,
    requiresTls,
    verifiesCertificate: requiresTls || ca !== undefined || !LOOPBACK.test(host),
    ca,
    greeting,
    login: user === '' ? undefined : { user, password: decode(parsed.password, 'password') },
  };
}

function decode(text: string, what: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error(`the ${what} of the SMTP URL is not percent-encoded correctly`);
  }
}
