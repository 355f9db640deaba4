import page from '../../../../docs/guides/webhooks.md?raw';
import type { WebhookHeadersQuery } from './webhooks.generated.ts';

type HeaderNames = NonNullable<WebhookHeadersQuery['webhookHeaders']>;

/** The code that verifies a signature in one language. */
export interface Verification {
  readonly language: string;
  readonly code: string;
  /** Says where the code gets the raw body and the signature header from. It has code between backquotes. */
  readonly note: string;
}

/** Returns the tested code of docs/guides/webhooks.md with this gateway's header names. */
export function verifications({ signature }: HeaderNames): Verification[] {
  const underscored = (name: string) => name.toUpperCase().replaceAll('-', '_');
  const own = page
    .replaceAll('X-Service-Signature', signature)
    .replaceAll(underscored('X-Service-Signature'), underscored(signature));
  return [...own.matchAll(/^### (.+)\n\n```\w+\n([\s\S]*?)\n```\n\n([\s\S]*?)\n\n(?=#)/gm)].map(
    ([, language = '', code = '', note = '']) => ({ language, code, note }),
  );
}
