import type { Channel } from '../messages/message.ts';

/** The person whom a link is for, and the account whose marketing messages the link stops. */
export interface OptOutPerson {
  /** The last 17 characters of the account's id. They are random, so that no two accounts have the same. */
  readonly accountTail: string;
  readonly channel: Extract<Channel, 'sms' | 'email'>;
  /** A phone number in E.164, or an email address in lower case. */
  readonly address: string;
}

/**
 * Makes and reads the tokens of links with which people stop marketing messages (R440). A token contains the person,
 * encrypted with a key that is derived from the master key. So nothing is stored for each recipient, and a person has
 * the same token in all messages.
 */
export interface OptOutTokens {
  tokenOf(person: OptOutPerson): string;
  /**
   * Returns the person of a token. Returns nobody if no key made it, and more than one if two keys could have made it:
   * then all but one name an account that does not exist.
   */
  open(token: string): readonly OptOutPerson[];
}
