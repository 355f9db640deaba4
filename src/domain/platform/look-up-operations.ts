import { recordChange } from '../audit/record-change.ts';
import type { Dependencies } from '../dependencies.ts';
import { validationError } from '../errors.ts';
import { parseMailbox } from '../messages/email-address.ts';
import { readDetails } from '../messages/message-operations.ts';
import { parseMsisdn } from '../messages/msisdn.ts';
import { sidCandidates } from '../messages/sid-keys.ts';
import { operation } from '../operation.ts';
import type { FoundMessage } from '../ports/platform-store.ts';
import { isUuid } from '../uuid.ts';
import { type LookedUpMessage, lookedUp, maskAddress, maskText } from './look-up.ts';

const QUERY_MIN_LENGTH = 4;
const QUERY_MAX_LENGTH = 200;
/** Number of messages that a look-up shows: the newest. */
const FOUND_MAX = 10;
/** Number of accounts in which a number is searched: those that sent last. Each costs one look into an index. */
const ACCOUNTS_MAX = 5_000;

/** The operation with which operators find messages of any account. */
export function lookUpOperations(deps: Pick<Dependencies, 'stores' | 'uow' | 'clock' | 'ids'>) {
  const { stores, uow } = deps;
  return {
    /**
     * Finds messages by their id, by a provider's id, or by the number or email address of a recipient (R516). Records
     * the look-up in the audit log of the platform, and of each account whose message is shown, before it answers.
     * Throws `validation_error`.
     */
    lookUp: operation(
      'platform.lookUp',
      { operator: 'reading' },
      async (caller, input: { readonly query: string }): Promise<readonly LookedUpMessage[]> => {
        const query = input.query.trim();
        if (query.length < QUERY_MIN_LENGTH || query.length > QUERY_MAX_LENGTH) {
          const message = `must have ${QUERY_MIN_LENGTH} to ${QUERY_MAX_LENGTH} characters`;
          throw validationError([{ path: 'query', message }]);
        }
        const address =
          parseMsisdn(query) ?? (query.includes('@') ? parseMailbox(query)?.address : undefined);
        // A provider's id may look like an id of a message, or like a number.
        const found = await Promise.all([
          isUuid(query) ? stores.platform.messageById(query.toLowerCase()) : [],
          stores.platform.messagesBySid(sidCandidates(query), FOUND_MAX),
          address === undefined ? [] : stores.platform.messagesTo(address, ACCOUNTS_MAX, FOUND_MAX),
        ]);
        const keys = [...new Map(found.flat().map((key) => [key.id, key])).values()].slice(0, FOUND_MAX);
        const messages = await Promise.all(
          keys.map(async (key) => {
            const details = await readDetails(stores, { ...key, environment: undefined }, key.id);
            return lookedUp({ id: key.accountId, name: key.accountName }, details, address);
          }),
        );
        await uow.run(async (tx) => {
          // The log is never deleted, so it does not keep whole addresses. What is neither an id nor an address may
          // have one in it.
          const isId = address === undefined && (isUuid(query) || found[1].length > 0);
          const shown = isId ? query : address === undefined ? maskText(query) : maskAddress(address);
          await recordChange(tx, deps, caller, {
            accountId: null,
            action: 'platform.lookUp',
            target: 'messages',
            after: { query: shown, messageIds: keys.map(({ id }) => id) },
          });
          for (const [accountId, own] of Map.groupBy(keys, (key: FoundMessage) => key.accountId)) {
            await recordChange(tx, deps, caller, {
              accountId,
              action: 'account.lookUp',
              target: accountId,
              after: { query: shown, messageIds: own.map(({ id }) => id) },
            });
          }
        });
        return messages;
      },
    ),
  };
}
