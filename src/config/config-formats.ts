/**
 * Formats of settings. Each format parses the text of a variable. Its error message says what a valid value looks like.
 */
import { z } from 'zod';
import { parseSlots } from '../domain/cells/slots.ts';
import { parseIpAddress, parseIpNetwork } from '../domain/ip-network.ts';
import { mailboxText, parseMailbox } from '../domain/messages/email-address.ts';
import { parseQuietTime, type QuietTime } from '../domain/messages/quiet-hours.ts';
import { contrast, READABLE } from '../runtime/colour.ts';

/** Splits text at commas. Drops empty items. */
export const list = (value: string) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

/** A whole number from `least` to `most`, both included. */
export const whole = (least: number, most: number) => {
  const error = `must be a whole number from ${least} to ${most}`;
  return z
    .string()
    .regex(/^[0-9]{1,15}$/, { error })
    .transform(Number)
    .refine((value) => value >= least && value <= most, { error });
};

/** A fraction from 0 to 1, such as 0.01. */
export const share = z
  .string()
  .regex(/^(0|1|0?\.[0-9]{1,9}|1\.0{1,9})$/, { error: 'must be a share from 0 to 1, such as 0.01' })
  .transform(Number);

/** The slots of a cell: ranges of three hex digits, separated by commas. */
export const slots = z.string().transform((text, context) => {
  const parsed = parseSlots(text);
  if (parsed) return parsed;
  const message = 'must be ranges of three hex digits that do not overlap, such as 000-7ff,a00';
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
});

/** A name that people read: one line. */
export const brandName = z
  .string()
  .trim()
  .regex(/^\P{C}{1,40}$/u, { error: 'must have 1 to 40 characters, without line breaks' });

const white = '#ffffff';

/** A colour on which white text is readable. The number sign may be left out: in `.env` it begins a comment. */
export const brandAccent = z
  .string()
  .regex(/^#?[0-9a-f]{6}$/i, { error: 'must be a colour such as #2257c5' })
  .transform((colour) => `#${colour.replace('#', '').toLowerCase()}`)
  .superRefine((colour, context) => {
    const found = contrast(colour, white);
    if (found >= READABLE) return;
    // Rounded down, so that the message never shows the limit itself.
    const shown = Math.floor(found * 100) / 100;
    const message = `has a contrast of ${shown} against white text and needs ${READABLE}; choose a darker colour, such as #2257c5`;
    context.addIssue({ code: 'custom', message });
  });

/** IP networks, separated by commas. */
export const cidrs = z
  .string()
  .transform(list)
  .refine((items) => items.every(parseIpNetwork), {
    error: 'must be a comma list of CIDRs such as 10.0.0.0/8,fd00::/8',
  });

/** IP addresses of name servers, separated by commas. Each may have a port. */
export const dnsServers = z
  .string()
  .transform(list)
  .refine((items) => items.every(isDnsServer), {
    error: 'must be a comma list of addresses such as 192.0.2.53,192.0.2.54:5353,[2001:db8::53]:53',
  });

function isDnsServer(text: string): boolean {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^[\]:]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const address = bracketed ?? plain;
  return address !== undefined && parseIpAddress(address) !== undefined && Number(port ?? 53) <= 65_535;
}

/** Origins, separated by commas, exactly as browsers send them. */
export const origins = z
  .string()
  .transform(list)
  .refine((items) => items.every((item) => URL.canParse(item) && new URL(item).origin === item), {
    error: 'must be a comma list of origins such as https://dashboard.example.com, without a path or *',
  });

/** 32 bytes in base64. */
export const masterKey = z
  .string()
  // Check the characters first: Node's decoder skips characters that are not base64, so a mistyped key would become a
  // different key.
  .regex(/^[A-Za-z0-9+/]{43}=$/, {
    error: 'must be 32 bytes in base64; make one with: openssl rand -base64 32',
  })
  .transform((text) => Buffer.from(text, 'base64'));

/**
 * Names of lost master keys. If the gateway refuses to start because a key is missing, the error shows the name of the
 * key.
 */
export const masterKeyNames = z
  .string()
  .transform(list)
  .refine((names) => names.every((name) => /^[0-9a-f]{8}$/.test(name)), {
    error: 'must be a comma list of the names that a refused start gives to keys, such as 1a2b3c4d',
  });

const hostName = /^([A-Za-z0-9_-]{1,63}\.)*[A-Za-z0-9_-]{1,63}\.?$/;

/** An IP address or host name to listen on. It must also be valid as the host of a URL. */
export const listenHost = z
  .string()
  // A host name cannot end in a number. So 999.1.1.1 is a mistyped IP address. `URL.canParse` refuses it.
  .refine(
    (text) => parseIpAddress(text) !== undefined || (hostName.test(text) && URL.canParse(`http://${text}`)),
    {
      error: 'must be an address or a host name without a port, such as 127.0.0.1, :: or localhost',
    },
  );

/** The base of a URL, with http: or https:. */
export const httpUrl = z
  .string()
  .refine((text) => /^https?:\/\/[^\s/?#@\\]+(\/[^\s?#\\]*)?$/i.test(text) && URL.canParse(text), {
    error: 'must be an address such as https://gateway.example.com, without user, query or fragment',
  });

/** A secret or name that is sent in a header. */
export const headerText = z
  .string()
  .regex(/^[!-~]+$/, { error: 'must be letters, digits and signs of ASCII, without spaces or line breaks' });

/** The name of an HTTP header, in lower case as Node gives it. */
export const headerName = z
  .string()
  .regex(/^[A-Za-z0-9-]{1,100}$/, { error: 'must be the name of a header, such as CF-IPCountry' })
  .transform((name) => name.toLowerCase());

const routeUrls = /^(simulator:$|smpps?:\/\/|africastalking:\/\/|twilio:\/\/)/;

/**
 * Carriers for each prefix of phone numbers. Each prefix may appear once (R225). The empty prefix matches all numbers.
 */
export const smsRoutes = z.string().transform((text, context) => {
  const routes = list(text).map((item) => {
    const [prefix = '', urls] = splitOnce(item, '=');
    return { prefix: prefix === '*' ? '' : prefix.replace(/^\+/, ''), urls: (urls ?? '').split('|') };
  });
  const bad = routes.find(
    (route) => !/^[0-9]{0,15}$/.test(route.prefix) || route.urls.some((url) => !routeUrls.test(url)),
  );
  if (bad) {
    context.addIssue({
      code: 'custom',
      message:
        'must be a comma list of PREFIX=URL[|URL…], such as *=simulator: or 256=smpp://id:password@host:2775|simulator:',
    });
    return z.NEVER;
  }
  const prefixes = routes.map(({ prefix }) => prefix);
  const twice = prefixes.find((prefix, index) => prefixes.indexOf(prefix) !== index);
  if (twice !== undefined) {
    const message = `must name each prefix once, with | between its URLs; ${twice || '*'} is there twice`;
    context.addIssue({ code: 'custom', message });
  }
  return routes;
});

/** Quiet hours by prefix of phone numbers (R385). `none`: there are none. Each prefix may appear once. */
export const quietTimes = z.string().transform((text, context) => {
  const refuse = (why: string) => {
    const message = `must be none, or a comma list of PREFIX=FROM-TO ZONE, such as 256=20:00-08:00 Africa/Kampala; ${why}`;
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  };
  if (text.trim() === 'none') return [];
  const entries = list(text);
  if (entries.length === 0) return refuse('it has no entry');
  const times: QuietTime[] = [];
  for (const entry of entries) {
    const time = parseQuietTime(entry);
    if (typeof time === 'string') return refuse(`${JSON.stringify(entry.slice(0, 60))} ${time.slice(0, 60)}`);
    if (times.some(({ prefix }) => prefix === time.prefix)) return refuse(`${time.prefix} is there twice`);
    times.push(time);
  }
  return times;
});

/** The simulator, or URLs of mail servers in the order in which they are tried (R225). */
export const emailUrls = z
  .string()
  .transform((text) => text.split('|').map((url) => url.trim()))
  .refine((urls) => urls.every((url) => /^(simulator:$|smtps?:\/\/.)/.test(url)), {
    error: 'must be simulator:, or addresses such as smtp://user:password@host:587 with | between them',
  });

/** The domain whose DKIM key signs emails. */
export const dkimDomain = z
  .string()
  .regex(/^([A-Za-z0-9-]{1,63}\.)+[A-Za-z0-9-]{1,63}$/, { error: 'must be a domain such as example.com' })
  .transform((text) => text.toLowerCase());

/** The domain of return paths. */
export const bounceDomain = z
  .string()
  .regex(/^(?=.{1,190}$)([A-Za-z0-9-]{1,63}\.)+[A-Za-z0-9-]{1,63}$/, {
    error: 'must be a domain for this only, such as bounces.example.com',
  })
  .transform((text) => text.toLowerCase());

/** The DKIM selector: the name under which the domain publishes its key. */
export const dkimSelector = z.string().regex(/^([A-Za-z0-9_-]{1,63}\.)*[A-Za-z0-9_-]{1,63}$/, {
  error: 'must be the name under which the key is published, such as mail2026',
});

/** An email address, with or without a display name. */
export const mailbox = z.string().transform((text, context) => {
  const parsed = parseMailbox(text);
  if (parsed) return mailboxText(parsed);
  context.addIssue({ code: 'custom', message: 'must be an address such as no-reply@example.com' });
  return z.NEVER;
});

function splitOnce(text: string, separator: string): [string, string | undefined] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}
