/** Reads WhatsApp's calls to `/callbacks/whatsapp`: the handshake, statuses and inbound messages (R25). */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { sanitizeSid } from '../../domain/messages/sanitize-provider-text.ts';
import type { DeliveryReport } from '../../domain/ports/provider.ts';
import type { WhatsAppCallbackPart, WhatsAppCallbacks } from '../../domain/ports/whatsapp.ts';
import { storable } from '../../domain/text.ts';
import { meaningOf, readError } from './cloud-api-errors.ts';

export interface CloudApiCallbackOptions {
  /** Name of the provider of the number that all accounts without a number share. */
  readonly provider: string;
  /** Returns the name of the provider of another number. */
  readonly providerOf: (phoneNumberId: string) => string;
  /** The platform's id of the shared number. Undefined if the gateway has none. */
  readonly phoneNumberId: string | undefined;
  /** The secret that signs callbacks. Undefined: no callback is accepted. */
  readonly appSecret: string | undefined;
  /** The token of the handshake. Undefined: no handshake succeeds. */
  readonly verifyToken: string | undefined;
}

type Json = Readonly<Record<string, unknown>>;
type Inbound = WhatsAppCallbackPart['inbound'][number];

/**
 * Creates the reader of WhatsApp's callbacks. It ignores unknown parts, because WhatsApp may add fields at any time.
 */
export function createCloudApiCallbacks(options: CloudApiCallbackOptions): WhatsAppCallbacks {
  const { provider, providerOf, phoneNumberId, appSecret, verifyToken } = options;
  return {
    challengeAnswer(query) {
      const token = query['hub.verify_token'];
      const challenge = query['hub.challenge'];
      const isRight =
        verifyToken !== undefined &&
        query['hub.mode'] === 'subscribe' &&
        typeof token === 'string' &&
        isSame(token, verifyToken);
      return isRight && typeof challenge === 'string' ? challenge : undefined;
    },

    read(body, signature) {
      if (appSecret === undefined || signature === undefined) return undefined;
      const expected = `sha256=${createHmac('sha256', appSecret).update(body).digest('hex')}`;
      if (!isSame(signature, expected)) return undefined;
      const byNumber = Map.groupBy(valuesIn(body), numberOf);
      return {
        parts: [...byNumber].map(([number, values]) => {
          const isShared = number === undefined || number === phoneNumberId;
          return {
            phoneNumberId: isShared ? undefined : number,
            provider: isShared ? provider : providerOf(number),
            reports: values.flatMap((value) => list(value.statuses).flatMap(reportOf)),
            inbound: values.flatMap((value) => list(value.messages).flatMap(inboundOf)),
          };
        }),
        sharedProvider: provider,
        sharesAnyNumber: phoneNumberId === undefined,
      };
    },
  };
}

/** Compares digests, so that the time of the comparison reveals neither content nor length. */
function isSame(given: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

function valuesIn(body: Buffer): Json[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString('utf8'));
  } catch {
    return [];
  }
  return list(object(parsed).entry)
    .flatMap((entry) => list(entry.changes))
    .map((change) => object(change.value));
}

function numberOf(value: Json): string | undefined {
  const { phone_number_id: number } = object(value.metadata);
  return typeof number === 'string' ? sanitizeSid(number) : undefined;
}

/**
 * Returns the report in a status. The status `sent` is ignored, because the answer to the submission already meant the
 * same.
 */
function reportOf({ id, status, recipient_id, errors }: Json): DeliveryReport[] {
  if (typeof id !== 'string' || id === '') return [];
  const to = typeof recipient_id === 'string' ? { to: recipient_id } : {};
  if (status === 'delivered' || status === 'read') return [{ sid: id, status, ...to }];
  if (status !== 'failed') return [];
  const error = readError(list(errors)[0]);
  if (!error) return [{ sid: id, status, ...to }];
  const meaning = meaningOf(error);
  const code = meaning.kind === 'permanent' ? meaning.code : String(error.code);
  return [{ sid: id, status, ...to, code, reason: meaning.words }];
}

function inboundOf({ id, from, timestamp, type, ...content }: Json): Inbound[] {
  const seconds = Number(timestamp);
  if (typeof id !== 'string' || typeof from !== 'string' || !(seconds > 0)) return [];
  const kind = typeof type === 'string' ? type : 'unknown';
  const own = object(content[kind]);
  const text = [own.body, own.caption].find((value) => typeof value === 'string');
  return [
    {
      sid: sanitizeSid(id),
      sender: `+${from.replace(/^\+/, '')}`,
      type: storable(kind),
      content: typeof text === 'string' ? storable(text) : null,
      sentAt: new Date(seconds * 1000),
    },
  ];
}

function object(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {};
}

function list(value: unknown): Json[] {
  return Array.isArray(value) ? value.map(object) : [];
}
