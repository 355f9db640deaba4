import page from '../../../../docs/guides/webhooks.md?raw';
import type { WebhookHeadersQuery } from './webhooks.generated.ts';

type HeaderNames = NonNullable<WebhookHeadersQuery['webhookHeaders']>;

/** How receivers verify a signature in one language. */
export interface Verification {
  readonly language: string;
  readonly code: string;
  /** Where the raw body and the header come from; code is in backquotes. */
  readonly note: string;
}

/** The tested code of docs/guides/webhooks.md, with the header names of this gateway. */
export function verifications({ signature }: HeaderNames): Verification[] {
  const underscored = (name: string) => name.toUpperCase().replaceAll('-', '_');
  const own = page
    .replaceAll('X-Service-Signature', signature)
    .replaceAll(underscored('X-Service-Signature'), underscored(signature));
  return [...own.matchAll(/^### (.+)\n\n```\w+\n([\s\S]*?)\n```\n\n([\s\S]*?)\n\n(?=#)/gm)].map(
    ([, language = '', code = '', note = '']) => ({ language, code, note }),
  );
}
