import { Link } from 'wouter';
import { usePermission } from '../lib/session.tsx';

/** The author of an action, as the API gives it. */
export type ShownActor =
  | { readonly __typename: 'User'; readonly email: string }
  | { readonly __typename: 'ApiKey'; readonly keyId: string; readonly name: string }
  | { readonly __typename: 'System'; readonly name: string };

/**
 * Renders an actor. A person is shown by email address, an API key by its name with a link, and the gateway by the name
 * of the part that acted.
 */
export function Actor({ of }: { of: ShownActor | null }) {
  const mayFindKeys = usePermission('apiKey.find');
  if (of === null) return <span className="quiet">–</span>;
  if (of.__typename === 'User') return of.email;
  if (of.__typename === 'System') return `the gateway (${of.name})`;
  const key = (
    <>
      key <strong title={of.keyId}>{of.name}</strong>
    </>
  );
  return mayFindKeys ? <Link href={`/api-keys/${of.keyId}`}>{key}</Link> : key;
}

/** Formats an actor as plain text, for CSV files. */
export function actorText(actor: ShownActor | null): string | null {
  if (actor === null) return null;
  if (actor.__typename === 'User') return actor.email;
  return actor.__typename === 'ApiKey' ? `key:${actor.keyId}` : `system:${actor.name}`;
}
