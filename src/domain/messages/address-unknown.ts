/**
 * Enhanced status codes of an address that does not exist (RFC 3463, RFC 7505): no such mailbox, moved without a new
 * address, a domain that accepts no mail. Not 5.1.2: a relay whose DNS fails may say it about every domain.
 */
const ADDRESS_UNKNOWN = /^5\.1\.(1|6|10)$/;

/** True if this status code says that the address does not exist (R382). Then each further mail fails, too. */
export function saysAddressUnknown(status: string): boolean {
  return ADDRESS_UNKNOWN.test(status);
}
