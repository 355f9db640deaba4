import { errorTable } from './errors.ts';

/** The introduction of the reference, in Markdown. */
export function describeService(): string {
  return `SMS, email, push notifications and WhatsApp behind one API. Requests and answers are JSON in UTF-8.

## Authentication
Every request carries the full API key in \`X-Api-Key\`. A key has scopes and an environment: with a \`sandbox\` key
everything is validated and recorded; nothing is sent, charged or delivered to webhooks. A key can be bound to addresses,
and can be made to sign its requests (below).

Messages, events, webhooks, deliveries, contacts and devices belong to the environment of the key that made them. A
sandbox key sees and changes those of the sandbox only: any other is \`not_found\`, and no list shows it. A production key
reaches both: histories show both, lists of contacts, devices and webhooks production unless \`environment=sandbox\` asks.
Sandbox messages cause no events, so a webhook of a sandbox key receives \`webhook.test\` only.

To sign a request:

1. \`message\` is the HTTP method, the request path with \`/api/v1\` and without the query, the timestamp and the
   lowercase hexadecimal SHA-256 of the body's bytes, joined without separators.
2. \`x-signature\` is the hexadecimal HMAC-SHA-256 of \`message\`, keyed with the signing secret as it was given.
3. \`x-timestamp\` is the Unix time in seconds, at most 120 seconds off. A signature passes once.

## Rate limits
A key may make 100 requests in any 60 seconds unless the operator says otherwise; the three \`X-RateLimit-*\` headers
are part of every answer. A refused request does not count.

## Idempotency
Sends take \`Idempotency-Key\` (or \`idempotencyKey\` in the body, 64 characters at most). For 24 hours a repeat gets the
first answer, byte for byte, with \`Idempotency-Replayed: true\`. Only successes are kept.

## Errors
${errorTable()}

Every answer may gain members. Unknown members of a request are ignored.`;
}
