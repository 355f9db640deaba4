import { isMasked, shownMessages } from '../accounts/inspection.ts';
import {
  ACCOUNT_ROLES,
  accountIdOf,
  type Caller,
  ENVIRONMENTS,
  type Environment,
  listedVisibility,
  refusal,
} from '../caller.ts';
import type { contactOperations } from '../contacts/contact-operations.ts';
import type { Dependencies } from '../dependencies.ts';
import { validationError } from '../errors.ts';
import { parseMailbox } from '../messages/email-address.ts';
import type { Channel, Message } from '../messages/message.ts';
import type { messageListOperations } from '../messages/message-list-operations.ts';
import { parseMsisdn } from '../messages/msisdn.ts';
import { type FoundObject, idOf, type objectOperations } from '../objects/object-operations.ts';
import { operation } from '../operation.ts';
import { READ_REQUESTS } from '../requests/request-operations.ts';
import { isUuid } from '../uuid.ts';

const SEARCH_MIN_LENGTH = 2;
const SEARCH_MAX_LENGTH = 100;
/** Greatest number of results of each kind. */
const MOST_OF_A_KIND = 5;
/** A page with all webhooks or keys of an account, to compare their names. An account has at most this many of each. */
const ALL = { page: 1, limit: 1_000 } as const;
const KEY_ID = /^[a-z0-9_-]{8,64}$/i;
/** The form of the request ids of clients (R4). A shorter text is more likely a part of a name. */
const REQUEST_ID = /^[A-Za-z0-9._-]{6,64}$/;

interface Searched {
  readonly text: string;
  readonly environment: Environment | undefined;
}
interface Found {
  readonly objects: ReturnType<typeof objectOperations>;
  readonly contacts: ReturnType<typeof contactOperations>;
  readonly messageLists: ReturnType<typeof messageListOperations>;
}

/** The kind of text that somebody searches for. It decides where the search looks (R340). */
type Meaning =
  | { readonly kind: 'id' }
  | { readonly kind: 'number' | 'email'; readonly address: string }
  | { readonly kind: 'text' };

/**
 * Returns the kind of a search text: an id, a phone number in any spelling that a send accepts, an email address, or
 * any other text.
 */
export function meaningOf(text: string): Meaning {
  const trimmed = text.trim();
  if (isUuid(trimmed)) return { kind: 'id' };
  const number = parseMsisdn(trimmed);
  if (number !== undefined) return { kind: 'number', address: number };
  const mailbox = trimmed.includes('@') ? parseMailbox(trimmed)?.address : undefined;
  return mailbox === undefined ? { kind: 'text' } : { kind: 'email', address: mailbox };
}

/** Finds objects of an account by a text that a person remembers. */
export function searchOperations(
  { stores }: Pick<Dependencies, 'stores'>,
  { objects, contacts, messageLists }: Found,
) {
  const byId = async (caller: Caller, { text }: Searched): Promise<FoundObject[]> => {
    if (!isUuid(text) && !KEY_ID.test(text)) return [];
    return [...(await objects.find.run(caller, { ids: [text] })).values()];
  };

  /** Returns the newest requests whose header `X-Request-Id` has this text (R415). */
  const requestsWith = async (caller: Caller, { text, environment }: Searched): Promise<FoundObject[]> => {
    if (!REQUEST_ID.test(text) || refusal(READ_REQUESTS, caller)) return [];
    const filter = { requestId: text, environment };
    const range = { limit: MOST_OF_A_KIND, after: undefined };
    const found = await stores.requests.slice(accountIdOf(caller), filter, range);
    return found.map((object) => ({ kind: 'request', object }));
  };

  /** Returns the newest messages to one address. An index finds them, so it also finds very old messages. */
  const messagesTo = async (
    caller: Caller,
    { environment }: Searched,
    channels: readonly Channel[],
    address: string,
  ): Promise<FoundObject[]> => {
    const visibility = listedVisibility(caller, environment);
    if (!visibility) return [];
    const page = { page: 1, limit: MOST_OF_A_KIND };
    const pages = await Promise.all(
      channels.map((channel) => stores.messages.history(visibility, channel, { to: address }, page)),
    );
    const newest = pages
      .flatMap(({ rows }) => rows)
      .sort((left, right) => right.createdAt.getTime() - left.createdAt.getTime());
    return messagesOf(shownMessages(caller, newest.slice(0, MOST_OF_A_KIND)));
  };

  const messagesWith = async (caller: Caller, { text, environment }: Searched): Promise<FoundObject[]> => {
    // Return nothing if the caller may not see texts. The results would reveal what the texts contain.
    if (isMasked(caller)) return [];
    const filter = { search: text, environment };
    const { edges } = await messageLists.list.run(caller, { first: MOST_OF_A_KIND, filter });
    return messagesOf(edges.map(({ node }) => node));
  };

  const contactsWith = async (caller: Caller, { text, environment }: Searched): Promise<FoundObject[]> => {
    const input = { first: MOST_OF_A_KIND, filter: { search: text } };
    const slices = await Promise.all(
      (environment ? [environment] : ENVIRONMENTS).map((each) =>
        contacts.slice.run(caller, { ...input, environment: each }),
      ),
    );
    return slices
      .flatMap(({ edges }) => edges)
      .slice(0, MOST_OF_A_KIND)
      .map(({ node }) => ({ kind: 'contact', object: node }));
  };

  /**
   * Returns keys, webhooks and people by a part of their name, URL or email address. An account has few of them, so all
   * are compared.
   */
  const named = async (caller: Caller, { text, environment }: Searched): Promise<FoundObject[]> => {
    const accountId = accountIdOf(caller);
    const part = text.toLowerCase();
    const has = (...texts: readonly (string | null | undefined)[]) =>
      texts.some((each) => each?.toLowerCase().includes(part));
    const [keys, webhooks, people] = await Promise.all([
      stores.apiKeys.page(accountId, ALL, environment),
      stores.webhooks.page({ accountId, environment }, ALL),
      stores.users.members(accountId),
    ]);
    const keysFound = keys.rows.filter(({ name, keyId }) => has(name, keyId));
    // Compare only the host of a URL, because the rest may be secret (R212).
    const webhooksFound = webhooks.rows.filter(({ url, description }) => has(hostOf(url), description));
    const ids = [
      ...keysFound.slice(0, MOST_OF_A_KIND).map(({ keyId }) => keyId),
      ...webhooksFound.slice(0, MOST_OF_A_KIND).map(({ id }) => id),
      ...people
        .filter(({ email }) => has(email))
        .slice(0, MOST_OF_A_KIND)
        .map(({ id }) => id),
    ];
    if (ids.length === 0) return [];
    const found = await objects.find.run(caller, { ids });
    return ids.flatMap((id) => found.get(id.toLowerCase()) ?? []);
  };

  return {
    /**
     * Finds messages, deliveries, requests, contacts, keys, webhooks and people by an id, a phone number, an email
     * address or a text (R340). Throws `validation_error` for a text that is too short or too long.
     */
    find: operation(
      'search.find',
      { roles: ACCOUNT_ROLES },
      async (
        caller,
        input: { readonly text: string; readonly environment?: Environment | undefined },
      ): Promise<readonly FoundObject[]> => {
        const asked: Searched = { text: checked(input.text), environment: input.environment };
        const meaning = meaningOf(asked.text);
        switch (meaning.kind) {
          case 'id':
            return inOrder([byId(caller, asked), requestsWith(caller, asked)]);
          case 'number':
            return inOrder([
              messagesTo(caller, asked, ['sms', 'whatsapp'], meaning.address),
              contactsWith(caller, asked),
            ]);
          case 'email':
            return inOrder([
              messagesTo(caller, asked, ['email'], meaning.address),
              contactsWith(caller, asked),
              named(caller, asked),
            ]);
          case 'text':
            return inOrder([
              byId(caller, asked),
              requestsWith(caller, asked),
              named(caller, asked),
              contactsWith(caller, asked),
              messagesWith(caller, asked),
            ]);
        }
      },
    ),
  };
}

function checked(given: string): string {
  const text = given.trim();
  if (text.length >= SEARCH_MIN_LENGTH && text.length <= SEARCH_MAX_LENGTH) return text;
  const message = `must have ${SEARCH_MIN_LENGTH} to ${SEARCH_MAX_LENGTH} characters`;
  throw validationError([{ path: 'text', message }]);
}

/** Returns the results of the look-ups in order. An object that several look-ups found is returned once. */
async function inOrder(lookups: readonly Promise<FoundObject[]>[]): Promise<FoundObject[]> {
  const found = (await Promise.all(lookups)).flat();
  return [...new Map(found.map((one) => [`${one.kind} ${idOf(one)}`, one])).values()];
}

function messagesOf(messages: readonly Message[]): FoundObject[] {
  return messages.map((object) => ({ kind: 'message', object }));
}

function hostOf(url: string): string {
  return URL.parse(url)?.host ?? '';
}
