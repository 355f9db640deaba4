import { isOneLine } from './email-address.ts';

/** Headers that a sender may set, in addition to `X-…` (R23). Their syntax allows only ASCII. */
const ALLOWED = new Set([
  'auto-submitted',
  'feedback-id',
  'importance',
  'in-reply-to',
  'list-archive',
  'list-help',
  'list-id',
  'list-post',
  'list-subscribe',
  'list-unsubscribe',
  'list-unsubscribe-post',
  'precedence',
  'priority',
  'references',
]);
/** Headers that mail providers treat as commands. Some of them add recipients. */
const PROVIDER_COMMANDS =
  /^x-(smtpapi|mc-|mandrill|mailgun|mg-|mj-|mailjet|ses-|pm-|postmark|sparkpost|msys-|sib-|mailin-|elasticemail|tm-|original|envelope|rcpt|resent|forward|bcc|cc$|to$|from$|sender)/;
/** Headers in which mail servers record the route and the authentication of a mail. */
const TRACE_HEADERS =
  /^(x-)?(authentication|authenticated|arc-|dkim|domainkey|dmarc|spf|received|return-path|delivered|envelope-to|originating|antiabuse|google-|gm-)/;
/** Headers in which spam filters record their result: Exchange, Rspamd, SpamAssassin, Amavis, and security gateways. */
const FILTER_VERDICTS =
  /^x-(ms-|microsoft|forefront|exchange|eop|spam|rspam|sa-|bogosity|dspam|crm114|ham-|junk|phish|virus|amavis|clam|greylist|rbl|barracuda|proofpoint|mimecast|ironport|sophos|klms|kaspersky|symantec|brightmail|tmase|trend|fireeye|cmae|cloudmark|vade|vr-|halon|mailcontrol|messagelabs|fortinet|feas-|trustwave|gmx|ui-filter|yandex-|mailru|ymail|yahoo|apple|icloud|aol)|mailscanner/;
const NAME = /^[A-Za-z0-9-]{1,76}$/;
const VALUE_MAX_LENGTH = 998;

/**
 * Returns why a sender may not set a header. Undefined if the sender may set it. A sender may set the headers in
 * `ALLOWED`, and `X-…` headers. Excluded are the `X-…` headers that mail providers obey or mail servers write.
 */
export function checkEmailHeader(name: string, value: string): string | undefined {
  const lower = name.toLowerCase();
  if (TRACE_HEADERS.test(lower) || FILTER_VERDICTS.test(lower)) {
    return 'cannot be set: mail servers write it, to say what they found out about a mail';
  }
  const isCustom = lower.startsWith('x-') && !PROVIDER_COMMANDS.test(lower);
  if (!NAME.test(name) || !(isCustom || ALLOWED.has(lower))) {
    return 'cannot be set; allowed are X-… and List-Unsubscribe and its like';
  }
  if (value === '' || value.length > VALUE_MAX_LENGTH) return `must have 1 to ${VALUE_MAX_LENGTH} characters`;
  if (!isOneLine(value)) return 'must be one line without control characters';
  if (!isCustom && !/^[\x20-\x7e]*$/.test(value)) return 'must be ASCII';
  if (lower === 'list-unsubscribe' && !isUnsubscribe(value)) {
    return 'must be addresses in angle brackets, such as <https://example.com/u/1>, <mailto:u@example.com>';
  }
  return undefined;
}

function isUnsubscribe(value: string): boolean {
  return value.split(',').every((part) => /^\s*<(https?:\/\/|mailto:)[^<>\s]+>\s*$/.test(part));
}
