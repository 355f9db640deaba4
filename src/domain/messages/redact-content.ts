/**
 * Names of members without message content: ids, times, addresses and codes. All other members are erased. So a new
 * member is erased unless its name is added here.
 */
const KEPT_MEMBERS: ReadonlySet<string> = new Set([
  // Members of events that are kept.
  'event',
  'channel',
  'messageId',
  'timestamp',
  'to',
  'from',
  'sid',
  'errorCode',
  'stage',
  'readAt',
  'deviceId',
  // Members of payloads that are kept.
  'type',
  'kind',
  'priority',
  'userIds',
  'deviceIds',
  'cc',
  'bcc',
  'replyTo',
]);
/** Members whose keys the sender chose. The keys can be content, so they are erased, too. */
const WITH_CUSTOM_KEYS: ReadonlySet<string> = new Set(['headers', 'components']);

/** Empties every text that may be content, at any depth. Keeps the order of the members. */
export function redactContent(members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(members).map(([name, value]) => [
      name,
      KEPT_MEMBERS.has(name) ? value : erase(name, value),
    ]),
  );
}

/** Returns the envelope of an event (R135–R145) without message content. */
export function redactEnvelope(body: string): string {
  const envelope: { data?: Record<string, unknown> } & Record<string, unknown> = JSON.parse(body);
  const { data } = envelope;
  return JSON.stringify({ ...envelope, ...(data ? { data: redactContent(data) } : {}) });
}

function erase(name: string, value: unknown): unknown {
  if (typeof value === 'string') return '';
  if (typeof value !== 'object' || value === null) return value;
  if (WITH_CUSTOM_KEYS.has(name) || name === 'data') return Array.isArray(value) ? [] : {};
  if (Array.isArray(value)) return value.map((item) => erase('', item));
  return redactContent(value as Record<string, unknown>);
}
