/**
 * Masks the bodies of logged requests (R416). The **masked** form shows the structure of a body. It shows a value only
 * if the value cannot be a message text, an address, a person's number or a secret. The **whole** form shows everything
 * except secrets.
 *
 * Invariant: a value is shown only if its name and its form are known to be harmless. A new member of the API is masked
 * until it is added here.
 */
import { isUuid } from '../uuid.ts';
import { maskedUrl } from '../webhooks/webhook-url.ts';

/** Largest body in characters that is read. A larger one is not logged. */
const READ_MAX_LENGTH = 16_384;
/** Largest masked body in characters that is stored. */
const MASKED_MAX_LENGTH = 8_192;
const DEPTH_MAX = 32;
/** Number of elements of a list, and of members of an object, that the masked form shows. */
const SHOWN_MAX = 20;
const MASK = '***';

/** Members whose values are words that the API knows, such as `pending`. */
const WORDS: ReadonlySet<string> = new Set([
  ...['status', 'statusReason', 'code', 'error', 'event', 'events', 'channel', 'type', 'kind', 'environment'],
  ...['scopes', 'encoding', 'currency', 'purpose', 'scope', 'source', 'platform', 'priority', 'path', 'from'],
  ...['errorCode', 'stage', 'limit', 'of'],
]);
/** Members whose values are counts or amounts. */
const FIGURES: ReadonlySet<string> = new Set([
  ...[
    'page',
    'limit',
    'total',
    'pages',
    'statusCode',
    'retryAfter',
    'maximum',
    'used',
    'required',
    'balance',
  ],
  ...['cost', 'costPerSms', 'smsCount', 'segments', 'messageLength', 'recipientsProcessed', 'attempts'],
  ...['invalidNumbersSkipped', 'invalidAddressesSkipped', 'duplicatesRemoved', 'suppressedSkipped'],
  ...['devicesTargeted', 'devicesReached', 'devicesFailed', 'devicesRemoved', 'maxRetries', 'httpStatus'],
  ...['overlapSeconds', 'ttlSeconds', 'perMinute', 'perSecond', 'index', 'queued'],
]);
/** A larger number may be a phone number. */
const FIGURE_MAX = 9_999_999;
/** Longest message of an error that is shown. */
const SENTENCE_MAX = 500;
const WORD = /^(?:[A-Za-z][A-Za-z_.-]{0,39}|GSM-7|UCS-2)$/;
const NAME = /^[A-Za-z_]{1,40}$/;
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,3})?Z$/;
/** Members inside which the client chooses the names. Such a name may itself be a private text or a phone number. */
const WITH_CUSTOM_NAMES: ReadonlySet<string> = new Set(['data', 'headers', 'attributes', 'components']);
/** Error codes whose messages may quote values of the request. */
const QUOTING: ReadonlySet<unknown> = new Set([
  ...['not_found', 'invalid_event_type', 'invalid_scope', 'invalid_webhook_url', 'unknown_template'],
  ...['invalid_phone_number', 'invalid_scheduled_time'],
]);

/** Secrets of this gateway: API keys, signing secrets, webhook secrets and access tokens. */
const SECRETS = /msg_[0-9a-f]{16}_[0-9a-f]{40}|(?:sigsec|whsec|gat)_[A-Za-z0-9_-]{16,}/gi;
/** Names of members with secrets of clients and providers. */
const SECRET_NAME =
  /^(?:key|keys|token|auth|p256dh)$|secret|password|authorization|signature|private|cookie/i;

/** A body in both forms. A form is null if the body has no such form. */
export interface LoggedBody {
  readonly masked: string | null;
  readonly full: string | null;
  /** The parsed body. Undefined if it is not a JSON object. */
  readonly members: Readonly<Record<string, unknown>> | undefined;
}
const NOTHING: LoggedBody = { masked: null, full: null, members: undefined };

/**
 * Returns both forms of a body. Both are null for a body that is absent, not JSON or larger than 16 KiB. `isRefusal` is
 * true for the answer of a refused request: its error messages are shown, because the gateway wrote them. Never throws.
 */
export function loggedBody(text: string | undefined, isRefusal = false): LoggedBody {
  if (!text || text.length > READ_MAX_LENGTH) return NOTHING;
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return NOTHING;
  }
  const masked = maskedText(body, {
    name: '',
    error: isRefusal ? null : undefined,
    isCustom: false,
    depth: 0,
  });
  const full = wholeText(body, '', 0);
  return {
    masked: masked.length <= MASKED_MAX_LENGTH ? masked : null,
    full: full.length <= READ_MAX_LENGTH ? full : null,
    members: isRecord(body) ? body : undefined,
  };
}

/** Replaces secrets of this gateway in a text that a client chose, such as an idempotency key. */
export function withoutSecrets(text: string): string {
  return text.replace(SECRETS, MASK);
}

/**
 * Returns a path without its query. A part is shown if it is a word of the API or an id. A part after `recipients` is the
 * address of a person, also if it looks like a word: the id of a user may.
 */
export function maskedPath(target: string): string {
  const [path = ''] = target.slice(0, 512).split(/[?#]/, 1);
  return path
    .split('/')
    .map((part, index, parts) => {
      const isWord = /^[A-Za-z][A-Za-z._-]{0,39}$|^v1$|^[0-9a-f]{16}$|^$/.test(part) || isUuid(part);
      return isWord && parts[index - 1] !== 'recipients' ? part : MASK;
    })
    .join('/');
}

type Members = Readonly<Record<string, unknown>>;
const isRecord = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The place of a value in its body. */
interface Place {
  /** Name of the member that has the value. Empty if the client chose the name. */
  readonly name: string;
  /**
   * Code of the error to which the value belongs. Null: no error was found yet. Undefined: the body is not the answer
   * of a refused request.
   */
  readonly error: unknown;
  readonly isCustom: boolean;
  readonly depth: number;
}

function maskedText(value: unknown, place: Place): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'number') {
    const isShown = FIGURES.has(place.name) && Math.abs(value) <= FIGURE_MAX;
    return isShown ? JSON.stringify(value) : quoted(MASK);
  }
  if (typeof value === 'string') return quoted(maskedString(value, place));
  const depth = place.depth + 1;
  if (depth > DEPTH_MAX) return quoted('[nested]');
  if (Array.isArray(value)) {
    const shown = value.slice(0, SHOWN_MAX).map((item) => maskedText(item, { ...place, depth }));
    return `[${[...shown, ...more(value.length)].join(',')}]`;
  }
  const members = value as Members;
  const error = place.error === null ? errorCodeOf(members, place.name) : place.error;
  const isCustom = place.isCustom || WITH_CUSTOM_NAMES.has(place.name);
  const entries = Object.entries(members);
  const shown = entries.slice(0, SHOWN_MAX).map(([own, member]) => {
    const name = !isCustom && NAME.test(own) ? own : '';
    return `${quoted(name || MASK)}:${maskedText(member, { name, error, isCustom, depth })}`;
  });
  const left = more(entries.length).map((text) => `"…":${text}`);
  return `{${[...shown, ...left].join(',')}}`;
}

const more = (length: number) => (length > SHOWN_MAX ? [quoted(`${length - SHOWN_MAX} more`)] : []);

/** Returns the code of an error of shape A or B (R168, R169). Null if the object is no such error. */
function errorCodeOf(members: Members, name: string): unknown {
  if (name === 'error') return members.code ?? null;
  return typeof members.statusCode === 'number' ? (members.error ?? null) : null;
}

function maskedString(value: string, { name, error }: Place): string {
  if (isUuid(value) || TIME.test(value)) return value;
  if (WORDS.has(name) && WORD.test(value)) return value;
  // The gateway wrote this error message, but it may quote a part of the request. So mask quotations, numbers and
  // addresses.
  if (
    name === 'message' &&
    typeof error === 'string' &&
    !QUOTING.has(error) &&
    value.length <= SENTENCE_MAX
  ) {
    return value.replace(/(["`]).*?\1|\+?\d[\d\s().-]{3,}\d|\S+@\S+/gs, MASK);
  }
  return `[${value.length} characters]`;
}

function wholeText(value: unknown, name: string, depth: number): string {
  if (SECRET_NAME.test(name) && value !== null) return quoted(MASK);
  if (typeof value === 'string') return quoted(withoutSecrets(/url$/i.test(name) ? maskedUrl(value) : value));
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (depth === DEPTH_MAX) return quoted('[nested]');
  if (Array.isArray(value)) return `[${value.map((item) => wholeText(item, name, depth + 1)).join(',')}]`;
  const members = Object.entries(value).map(
    ([own, member]) => `${quoted(withoutSecrets(own))}:${wholeText(member, own, depth + 1)}`,
  );
  return `{${members.join(',')}}`;
}

const quoted = (text: string) => JSON.stringify(text);
