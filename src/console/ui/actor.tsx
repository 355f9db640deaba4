import { Link } from 'wouter';
import { usePermission } from '../lib/session.tsx';
import { t } from '../lib/words.ts';
import { T } from './t.tsx';

/** The author of an action, as the API gives it. */
export type ShownActor =
  | { readonly __typename: 'User'; readonly email: string }
  | { readonly __typename: 'ApiKey'; readonly keyId: string; readonly name: string }
  | { readonly __typename: 'System'; readonly name: string };

/**
 * Renders an actor: a person by email address, an API key by its name, and the gateway by the name of the part that
 * acted. A person and a key lead to their page, if the viewer may open it.
 */
export function Actor({ of }: { of: ShownActor | null }) {
  const mayFindKeys = usePermission('apiKey.find');
  const mayListMembers = usePermission('member.list');
  if (of === null) return <span className="quiet">–</span>;
  if (of.__typename === 'User') return mayListMembers ? <Link href="/members">{of.email}</Link> : of.email;
  if (of.__typename === 'System') return t('the gateway ({name})', { name: of.name });
  const key = (
    <>
      <T text="key {name}" name={<strong title={of.keyId}>{of.name}</strong>} />
    </>
  );
  return mayFindKeys ? <Link href={`/api-keys/${of.keyId}`}>{key}</Link> : key;
}

/** Formats an actor with its id, for CSV files. */
export function actorText(actor: ShownActor | null): string | null {
  if (actor === null) return null;
  if (actor.__typename === 'User') return actor.email;
  return actor.__typename === 'ApiKey' ? `key:${actor.keyId}` : `system:${actor.name}`;
}

/** Formats an actor as people know it: an email address, the name of a key, or the gateway. */
export function actorName(actor: ShownActor | null): string | null {
  if (actor === null) return null;
  if (actor.__typename === 'User') return actor.email;
  return actor.__typename === 'ApiKey' ? actor.name : t('the gateway ({name})', { name: actor.name });
}
