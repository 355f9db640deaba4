/** WhatsApp messages through the Cloud API (R25). */
import type {
  Provider,
  ProviderHealth,
  ProviderOutcome,
  ProviderProbe,
  WhatsAppContent,
  WhatsAppSubmission,
} from '../../domain/ports/provider.ts';
import type { NumberAnswer } from '../../domain/ports/whatsapp.ts';
import { mayLeave } from '../may-leave.ts';
import {
  healthOf,
  noAnswer,
  type ProviderExchange,
  ProviderHttp,
  REQUEST_TIMEOUT,
} from '../provider-http.ts';
import { sidOf } from '../sid-of.ts';
import { isUnknownNumber, meaningOf, readError } from './cloud-api-errors.ts';

export interface CloudApiOptions {
  /** The base URL, with the version of the API in its path. */
  readonly baseUrl: string;
  readonly phoneNumberId: string;
  readonly token: string;
  /** Time limit of one request in ms. */
  readonly timeoutMs?: number | undefined;
  /** The clock for deadlines. Default: the clock of the process. */
  readonly now?: (() => Date) | undefined;
}

/** Time limit of a question about a number, in ms. A person waits for the answer. */
const ASK_TIMEOUT_MS = 5_000;
/** A number in E.164 has at least 7 digits and at most 15. */
const DIGITS = /^[1-9][0-9]{6,14}$/;

/**
 * Asks about the number with this id. The platform sends one error for an id that does not exist, for an id of something
 * else, and for a number of another business.
 */
export async function askCloudApi(options: CloudApiOptions): Promise<NumberAnswer> {
  const provider = new CloudApiProvider({ ...options, timeoutMs: ASK_TIMEOUT_MS });
  try {
    const answer = await provider.read('display_phone_number');
    if (answer.kind === 'failure') return { kind: 'unclear', reason: answer.reason };
    const error = readError(answer.body?.error);
    if (error)
      return { kind: isUnknownNumber(error) ? 'unknown' : 'unclear', reason: meaningOf(error).words };
    if (answer.status >= 300 || answer.body === undefined)
      return { kind: 'unclear', reason: `WhatsApp answered ${answer.status}` };
    const shown = answer.body.display_phone_number;
    const digits = typeof shown === 'string' ? shown.replace(/\D/g, '') : '';
    if (!DIGITS.test(digits)) return { kind: 'unclear', reason: 'WhatsApp answered without the number' };
    return { kind: 'known', number: `+${digits}` };
  } finally {
    await provider.stop();
  }
}

/** Returns the provider's name, by which messages and reports are matched. */
export function cloudApiName(phoneNumberId: string): string {
  return `whatsapp:${phoneNumberId}`;
}

/** Sends messages from one business phone number. Reports arrive at `/callbacks/whatsapp`. */
export class CloudApiProvider implements Provider<WhatsAppSubmission> {
  readonly name: string;
  readonly #http: ProviderHttp;
  readonly #path: string;
  readonly #numberPath: string;
  readonly #token: string;
  #inFlight = 0;
  #trouble: string | undefined;

  constructor({ baseUrl, phoneNumberId, token, timeoutMs, now }: CloudApiOptions) {
    this.name = cloudApiName(phoneNumberId);
    this.#http = new ProviderHttp({ baseUrl, now, ...(timeoutMs === undefined ? {} : { timeoutMs }) });
    this.#numberPath = `/${encodeURIComponent(phoneNumberId)}`;
    this.#path = `${this.#numberPath}/messages`;
    this.#token = token;
  }

  start(): void {}

  async submit(submission: WhatsAppSubmission, signal: AbortSignal): Promise<ProviderOutcome> {
    this.#inFlight += 1;
    try {
      const write = () => ({
        path: this.#path,
        headers: { authorization: `Bearer ${this.#token}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          messaging_product: 'whatsapp',
          recipient_type: 'individual',
          to: submission.to.replace('+', ''),
          ...contentOf(submission.content),
        }),
      });
      const answer = await this.#http.post(write, {
        signal,
        expiresAt: submission.expiresAt,
        mayLeave: () => mayLeave(submission),
      });
      return this.#read(answer, submission);
    } finally {
      this.#inFlight -= 1;
    }
  }

  stop(): Promise<void> {
    return this.#http.close();
  }

  health(): ProviderHealth {
    return healthOf(this.name, this.#inFlight, this.#trouble);
  }

  /** Reads fields of the number's own record, given by their names with commas between them. */
  read(fields: string): Promise<ProviderExchange> {
    return this.#http.get({
      path: `${this.#numberPath}?fields=${fields}`,
      headers: { authorization: `Bearer ${this.#token}` },
    });
  }

  async probe(): Promise<ProviderProbe> {
    const answer = await this.read('display_phone_number,quality_rating');
    if (answer.kind === 'failure') throw new Error(answer.reason);
    const error = readError(answer.body?.error);
    if (error) throw new Error(`WhatsApp answered ${answer.status}: ${meaningOf(error).words}`);
    if (answer.status >= 300) throw new Error(`WhatsApp answered ${answer.status}`);
    const quality = answer.body?.quality_rating;
    const rated = typeof quality === 'string' ? `; its quality is ${quality.slice(0, 20)}` : '';
    return { detail: `WhatsApp accepts the token for the phone number${rated}` };
  }

  #read(answer: ProviderExchange, submission: WhatsAppSubmission): ProviderOutcome {
    if (answer.kind === 'failure') return noAnswer('WhatsApp', answer);
    const { status, body } = answer;
    if (status >= 200 && status < 300 && body !== undefined && body.error === undefined) {
      this.#trouble = undefined;
      const [message]: readonly { id?: unknown }[] = Array.isArray(body.messages) ? body.messages : [];
      return { kind: 'accepted', sid: sidOf(message?.id, submission) };
    }
    const pause = answer.retryAfterMs === undefined ? {} : { retryAfterMs: answer.retryAfterMs };
    const error = readError(body?.error);
    if (!error) return withoutCode(status, pause);
    const meaning = meaningOf(error);
    switch (meaning.kind) {
      case 'permanent':
        return { kind: 'rejected', asked: true, code: meaning.code, reason: meaning.words };
      case 'throttled':
        return { kind: 'unavailable', asked: true, reason: meaning.words, definitelyNotSent: true, ...pause };
      case 'throttled pair':
        return {
          kind: 'unavailable',
          asked: true,
          reason: meaning.words,
          definitelyNotSent: true,
          onlyThis: true,
          ...pause,
        };
      case 'temporary':
        return { kind: 'unavailable', asked: true, reason: meaning.words, ...pause };
      case 'own':
        this.#trouble = meaning.words;
        return { kind: 'unavailable', asked: true, reason: meaning.words, definitelyNotSent: true };
    }
  }
}

function withoutCode(status: number, pause: { retryAfterMs?: number }): ProviderOutcome {
  const reason = `WhatsApp answered ${status} without a known error`;
  if (status === 429) return { kind: 'unavailable', asked: true, reason, definitelyNotSent: true, ...pause };
  if (status >= 400 && status < 500 && ![401, 403, REQUEST_TIMEOUT].includes(status)) {
    return { kind: 'rejected', asked: true, code: `http_${status}`, reason };
  }
  return { kind: 'unavailable', asked: true, reason, ...pause };
}

/** Returns the content for the body of the request. */
function contentOf(content: WhatsAppContent): object {
  switch (content.type) {
    case 'text':
      return { type: 'text', text: { preview_url: content.previewUrl, body: content.body } };
    case 'template': {
      const { name, language, components } = content;
      const filled = components.length === 0 ? {} : { components };
      return { type: 'template', template: { name, language: { code: language }, ...filled } };
    }
    case 'media': {
      const { kind, url, caption } = content;
      return { type: kind, [kind]: { link: url, ...(caption === null ? {} : { caption }) } };
    }
  }
}
