/** The content of a push request. `checkPushContent` checks it before the message is accepted (R24). */
import { type FieldFault, validationError } from '../errors.ts';
import type { Message } from './message.ts';

export interface PushContentInput {
  readonly title: string;
  readonly body: string;
  readonly data?: Readonly<Record<string, unknown>> | undefined;
  readonly imageUrl?: string | undefined;
  readonly clickUrl?: string | undefined;
  readonly collapseKey?: string | undefined;
  readonly ttlSeconds?: number | undefined;
  readonly priority?: 'high' | 'normal' | undefined;
}

/** The parts of a push message besides its text. */
export interface PushPayload {
  readonly title: string;
  readonly data: Readonly<Record<string, string>>;
  readonly imageUrl: string | null;
  readonly clickUrl: string | null;
  readonly collapseKey: string | null;
  readonly ttlSeconds: number | null;
  readonly priority: 'high' | 'normal';
  /** The users and devices that the request named. */
  readonly userIds: readonly string[];
  readonly deviceIds: readonly string[];
}

/**
 * Largest size of title, text, data and URLs together, in bytes of JSON. The platforms allow 4,096 bytes, which include
 * their own additions.
 */
export const PUSH_MAX_BYTES = 3_500;
/** Longest time to live, in seconds: four weeks, the longest time that any platform stores a message. */
export const PUSH_TTL_MAX_SECONDS = 2_419_200;
/** Longest collapse key in bytes of UTF-8, as APNs counts it. */
export const COLLAPSE_KEY_MAX_BYTES = 64;

/** Names of data members that the platforms reserve. */
const RESERVED_KEY = /^(aps|from|message_type|collapse_key|notification|(google|gcm)(\..*)?)$/i;

/** Checks and normalizes the content of a push message. Throws `validation_error` with all faults. */
export function checkPushContent(input: PushContentInput): Omit<PushPayload, 'userIds' | 'deviceIds'> {
  const faults: FieldFault[] = [];
  const expect = (path: string, isRight: boolean, message: string) => {
    if (!isRight) faults.push({ path, message });
  };
  expect('title', input.title !== '', 'must not be empty');
  expect('body', input.body !== '', 'must not be empty');
  const data = Object.entries(input.data ?? {});
  for (const [key] of data)
    expect(`data.${key}`, !RESERVED_KEY.test(key), 'is a name that the platforms use');
  expect('imageUrl', isUrl(input.imageUrl, /^https?:$/), 'must be an http or https address');
  expect(
    'clickUrl',
    isUrl(input.clickUrl, /^(?!(javascript|data|vbscript|file):)/),
    'must be an address that can be opened',
  );
  const keyBytes = Buffer.byteLength(input.collapseKey ?? 'x');
  expect(
    'collapseKey',
    keyBytes > 0 && keyBytes <= COLLAPSE_KEY_MAX_BYTES,
    `must have 1 to ${COLLAPSE_KEY_MAX_BYTES} bytes`,
  );
  const { ttlSeconds = 0 } = input;
  expect(
    'ttlSeconds',
    Number.isInteger(ttlSeconds) && ttlSeconds >= 0 && ttlSeconds <= PUSH_TTL_MAX_SECONDS,
    `must be a whole number from 0 to ${PUSH_TTL_MAX_SECONDS}`,
  );
  const content = {
    title: input.title,
    data: Object.fromEntries(data.map(([key, value]) => [key, textOf(value)])),
    imageUrl: input.imageUrl ?? null,
    clickUrl: input.clickUrl ?? null,
    collapseKey: input.collapseKey ?? null,
    ttlSeconds: input.ttlSeconds ?? null,
    priority: input.priority ?? 'high',
  };
  const bytes = Buffer.byteLength(JSON.stringify({ ...content, body: input.body }));
  expect(
    '',
    bytes <= PUSH_MAX_BYTES,
    `title, body, data and addresses have ${bytes} bytes together; at most ${PUSH_MAX_BYTES} are allowed`,
  );
  if (faults.length > 0) throw validationError(faults);
  return content;
}

export function pushPayload(message: Pick<Message, 'payload'>): PushPayload {
  return message.payload as unknown as PushPayload;
}

/** Converts a data value to text, because the platforms accept only strings. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function isUrl(text: string | undefined, protocol: RegExp): boolean {
  return text === undefined || (URL.canParse(text) && protocol.test(new URL(text).protocol));
}
