import { ACCOUNT_ROLES, accountIdOf } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { operation } from '../operation.ts';
import { isUuid } from '../uuid.ts';
import { type Actor, OPERATOR_NAME, parseActor } from './actor.ts';

/** The operation that finds the person, key or system behind the name of an actor. */
export function actorOperations({ stores }: Pick<Dependencies, 'stores'>) {
  return {
    /**
     * Returns the actor behind each text. For members, an operator and a person or key of another account are shown as
     * the system `operator`.
     */
    find: operation(
      'actor.find',
      { roles: ACCOUNT_ROLES, operator: 'reading' },
      async (caller, input: { readonly texts: readonly string[] }): Promise<ReadonlyMap<string, Actor>> => {
        const accountId = caller.kind === 'operator' ? undefined : accountIdOf(caller);
        const parsed = new Map(input.texts.map((text) => [text, parseActor(text)]));
        const idsOf = (kind: string) =>
          [...parsed.values()].flatMap((actor) => (actor.kind === kind ? [actor.id] : []));
        const [userIds, keyIds] = [idsOf('user').filter(isUuid), idsOf('key')];
        const users = userIds.length > 0 ? await stores.users.findMany(userIds, accountId) : [];
        const keys = keyIds.length > 0 ? await stores.apiKeys.findMany(accountId, keyIds) : [];
        const usersById = new Map(users.map((user) => [user.id, user]));
        const keysById = new Map(keys.map((key) => [key.keyId, key]));
        const actorOf = ({ kind, id }: { kind: string; id: string }): Actor => {
          const user = kind === 'user' ? usersById.get(id) : undefined;
          if (user) return { kind: 'user', user };
          const key = kind === 'key' ? keysById.get(id) : undefined;
          if (key) return { kind: 'key', key };
          return { kind: 'system', name: kind === 'system' ? id : OPERATOR_NAME };
        };
        return new Map([...parsed].map(([text, actor]) => [text, actorOf(actor)]));
      },
    ),
  };
}
