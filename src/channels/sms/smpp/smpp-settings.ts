import { readCaBundle } from '../../pem.ts';

/** The direction of a session: submitting, receiving, or both. */
export type BindRole = 'transceiver' | 'transmitter' | 'receiver';

/** The settings in an `smpp://` URL, and the timeouts. */
export interface SmppSettings {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /** Certificates (PEM) to trust instead of the system's. */
  readonly tlsCa: string | undefined;
  /** The sessions to bind. Messages are submitted over the first session. */
  readonly sessions: readonly [BindRole, ...BindRole[]];
  readonly systemId: string;
  readonly password: string;
  readonly systemType: string;
  /** Number of submit_sm PDUs that may be unanswered. */
  readonly window: number;
  readonly sourceTon?: number;
  readonly sourceNpi?: number;
  /** True if the gateway sends validity_period. */
  readonly validity: boolean;
  readonly timing: SmppTiming;
}

/** Time limits and intervals, all in ms. */
export interface SmppTiming {
  /** Limit for connecting and for the answer to the bind. */
  readonly bindTimeoutMs: number;
  /** A submission is overdue if it has no answer after this time (see `SmppSession`). */
  readonly submitTimeoutMs: number;
  readonly enquireIntervalMs: number;
  /** How long the SMSC may send nothing while an enquire_link is unanswered. */
  readonly enquireTimeoutMs: number;
  readonly reconnectMinMs: number;
  readonly reconnectMaxMs: number;
  /** How long a submission waits until a session is bound. */
  readonly boundWaitMs: number;
  readonly throttlePauseMs: number;
  /** How long `stop` waits for submissions in flight and for reports to be recorded. */
  readonly stopGraceMs: number;
}

const DEFAULT_TIMING: SmppTiming = {
  bindTimeoutMs: 10_000,
  submitTimeoutMs: 60_000,
  enquireIntervalMs: 30_000,
  enquireTimeoutMs: 30_000,
  reconnectMinMs: 1_000,
  reconnectMaxMs: 60_000,
  boundWaitMs: 5_000,
  throttlePauseMs: 200,
  stopGraceMs: 5_000,
};

const DEFAULT_PORT = 2775;
const DEFAULT_TLS_PORT = 3550;
const PARAMETERS = [
  'window',
  'systemType',
  'enquireSeconds',
  'bindTimeoutSeconds',
  'submitTimeoutSeconds',
  'sourceTon',
  'sourceNpi',
  'validity',
  'bind',
  'ca',
];

/**
 * Reads `smpp://systemId:password@host:2775?window=50` or `smpps://…` (TLS, default port 3550). Query parameters:
 * window (1 to 1000), systemType, enquireSeconds, bindTimeoutSeconds, submitTimeoutSeconds, sourceTon, sourceNpi,
 * validity (on, off), bind (trx, tx+rx), and ca (path of a PEM bundle, which is read here). `timing` takes precedence
 * over the URL. Throws an Error that says what is wrong and never contains the password.
 */
export function parseSmppUrl(url: string, timing: Partial<SmppTiming> = {}): SmppSettings {
  const parsed = URL.parse(url);
  if (parsed === null || !/^smpps?:$/.test(parsed.protocol))
    throw new Error('not an smpp:// or smpps:// URL');
  if (parsed.hostname === '') throw new Error('the SMPP URL names no host');
  if (parsed.username === '') throw new Error('the SMPP URL names no systemId');
  const query = parsed.searchParams;
  for (const name of query.keys()) {
    if (!PARAMETERS.includes(name)) throw new Error(`unknown SMPP parameter ${name}`);
  }
  const number = (name: string, min: number, max: number): number | undefined => {
    const text = query.get(name);
    if (text === null) return undefined;
    const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max)) throw new Error(`SMPP parameter ${name} must be ${min} to ${max}`);
    return value;
  };
  const milliseconds = (name: string): number | undefined => {
    const seconds = number(name, 1, 3600);
    return seconds === undefined ? undefined : seconds * 1000;
  };
  const validity = query.get('validity') ?? 'on';
  if (validity !== 'on' && validity !== 'off') throw new Error('SMPP parameter validity must be on or off');
  const tls = parsed.protocol === 'smpps:';
  const ca = query.get('ca');
  if (ca !== null && !tls) throw new Error('SMPP parameter ca is for smpps:// URLs');
  return {
    host: parsed.hostname.replace(/^\[|\]$/g, ''),
    port: parsed.port === '' ? (tls ? DEFAULT_TLS_PORT : DEFAULT_PORT) : Number(parsed.port),
    tls,
    tlsCa: ca === null ? undefined : readCaBundle(ca),
    sessions: sessionsOf(query.get('bind') ?? 'trx'),
    systemId: decode(parsed.username, 'systemId'),
    password: decode(parsed.password, 'password'),
    systemType: query.get('systemType') ?? '',
    window: number('window', 1, 1000) ?? 50,
    sourceTon: number('sourceTon', 0, 255),
    sourceNpi: number('sourceNpi', 0, 255),
    validity: validity === 'on',
    timing: {
      ...DEFAULT_TIMING,
      bindTimeoutMs: milliseconds('bindTimeoutSeconds') ?? DEFAULT_TIMING.bindTimeoutMs,
      submitTimeoutMs: milliseconds('submitTimeoutSeconds') ?? DEFAULT_TIMING.submitTimeoutMs,
      enquireIntervalMs: milliseconds('enquireSeconds') ?? DEFAULT_TIMING.enquireIntervalMs,
      ...timing,
    },
  };
}

/**
 * Returns the sessions to bind. In a query, a plus sign that is not percent-encoded is read as a space, so both are
 * accepted.
 */
function sessionsOf(bind: string): SmppSettings['sessions'] {
  if (bind === 'trx') return ['transceiver'];
  if (/^tx[+ ]rx$/.test(bind)) return ['transmitter', 'receiver'];
  throw new Error('SMPP parameter bind must be trx or tx+rx');
}

function decode(text: string, what: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error(`the ${what} of the SMPP URL is not percent-encoded correctly`);
  }
}
