import { isIP } from 'node:net';

/** Shorter names are not removed. They are mostly common words, and the text would become unreadable. */
const LEAST_LENGTH = 3;
/**
 * Finds text that may be an IP address, with or without a port. The pattern is a single class of characters, so that
 * the search takes linear time.
 */
const ADDRESS_LIKE = /[0-9a-fA-F:.]{2,}/g;
const LONGEST_ADDRESS = 60;
/** Node's error text about a certificate for other names. The names follow in it. */
const OTHER_CERTIFICATE = /Hostname\/IP does not match certificate's altnames:.*/s;
const REDACTED = '…';

/**
 * Returns a function that removes the operator's account, host and network from a provider's text (R256). Customers
 * read such texts in timelines, errors and events. `name` is the name of the provider: `kind:account@host:port`,
 * `kind:account` or `kind`.
 */
export function createRedaction(name: string): (text: string) => string {
  const [, account, host] = /^[^:]*:(?:(.*)@)?(.*?)(?::\d+)?$/.exec(name) ?? [];
  // The names of simulators and Web Push contain neither account nor host.
  if (host === undefined) return withoutAddresses;
  const secrets = [account, host]
    .filter((secret): secret is string => secret !== undefined && secret.length >= LEAST_LENGTH)
    .map((secret) => new RegExp(`(?<![\\w-])${escaped(secret)}(?::\\d+)?(?![\\w-])`, 'gi'));
  return (text) => {
    const renamed = text
      .replaceAll(name, 'the provider')
      .replace(OTHER_CERTIFICATE, 'its certificate is for another host');
    return withoutAddresses(secrets.reduce((left, secret) => left.replaceAll(secret, REDACTED), renamed));
  };
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

function withoutAddresses(text: string): string {
  return text.replaceAll(ADDRESS_LIKE, (word) => {
    if (word.length > LONGEST_ADDRESS) return word;
    const [bare = '', end = ''] = /^(.*?)([.:]*)$/.exec(word)?.slice(1) ?? [];
    return isIP(bare) !== 0 || isIP(bare.replace(/:\d+$/, '')) !== 0 ? REDACTED + end : word;
  });
}
