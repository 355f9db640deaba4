import page from '../../../../docs/webhooks.md?raw';
import type { WebhookHeadersQuery } from './webhooks.generated.ts';

type HeaderNames = NonNullable<WebhookHeadersQuery['webhookHeaders']>;

/** How receivers check a signature in one language. */
export interface Verification {
  readonly language: string;
  readonly code: string;
  /** Where the raw body and the header come from; names of code stand in backquotes. */
  readonly note: string;
}

/** What docs/webhooks.md, whose code is tested, says of checking signatures, with the names of this gateway's headers. */
export function verifications({ signature }: HeaderNames): Verification[] {
  const underscored = (name: string) => name.toUpperCase().replaceAll('-', '_');
  const own = page
    .replaceAll('X-Service-Signature', signature)
    .replaceAll(underscored('X-Service-Signature'), underscored(signature));
  return [...own.matchAll(/^### (.+)\n\n```\w+\n([\s\S]*?)\n```\n\n([\s\S]*?)\n\n(?=#)/gm)].map(
    ([, language = '', code = '', note = '']) => ({ language, code, note }),
  );
}
