import { recordChange } from '../audit/record-change.ts';
import type { Dependencies } from '../dependencies.ts';
import { notFound } from '../errors.ts';
import { operation } from '../operation.ts';
import type { OptOutPerson } from '../ports/opt-out-tokens.ts';
import { storedForms } from './hashed-suppressions.ts';
import { isHashed, placeText } from './suppression.ts';

/** Operations of the page behind the link in marketing messages (R441). A person with the link needs no key. */
export function optOutOperations(deps: Dependencies) {
  const { stores, uow, clock, ids, optOutTokens, addressHashes } = deps;

  async function linked(token: string): Promise<OptOutPerson & { readonly accountId: string }> {
    for (const person of optOutTokens.open(token)) {
      const accountId = await stores.accounts.idOfTail(person.accountTail);
      if (accountId !== undefined) return { ...person, accountId };
    }
    throw notFound('Link');
  }

  return {
    /** Returns the person behind a link. Changes nothing. Throws `not_found`. */
    find: operation(
      'optOut.find',
      {},
      (_caller, { token }: { readonly token: string }): Promise<OptOutPerson> => linked(token),
    ),

    /** Suppresses marketing to the person behind a link. A suppression that exists stays. Throws `not_found`. */
    take: operation(
      'optOut.take',
      {},
      async (caller, { token }: { readonly token: string }): Promise<OptOutPerson> => {
        const person = await linked(token);
        const { accountId, channel, address } = person;
        const owner = { accountId, environment: 'production' } as const;
        const forms = await storedForms(addressHashes, accountId, address);
        await uow.run(async (tx) => {
          // Of an erased person the address must not come back.
          if ((await tx.suppressions.among(owner, channel, forms)).some(isHashed)) return;
          const id = await tx.suppressions.add({
            id: ids.uuid(),
            accountId,
            // Sandbox messages reach nobody, so that all links are of production.
            environment: 'production',
            channel,
            address,
            scope: 'marketing',
            source: 'link',
            reason: null,
            createdAt: clock.now(),
          });
          if (id === undefined) return;
          tx.announce('suppressions', accountId, placeText({ ...owner, channel, address }));
          await recordChange(tx, deps, caller, {
            accountId,
            action: 'suppression.add',
            target: id,
            after: { channel, scope: 'marketing', source: 'link' },
          });
        });
        return person;
      },
    ),
  };
}
