import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { People } from '../lib/people.generated.ts';
import { useApiQuery } from '../lib/queries.ts';
import { usePermission, useViewer } from '../lib/session.tsx';

/** Shows an actor of the API (`user:…`, `key:…`, `system:…`); people by their email. */
export function useActors(): (actor: string | null) => ReactNode {
  const viewer = useViewer();
  const mayListPeople = usePermission('member.list');
  const mayFindKeys = usePermission('apiKey.find');
  const members = useApiQuery(People, {}, { isEnabled: mayListPeople }).data?.members ?? [];
  const emails = new Map([viewer, ...members].map(({ id, email }) => [id, email]));
  return (actor) => {
    if (actor === null) return <span className="quiet">–</span>;
    const [kind, id = ''] = actor.split(/:(.*)/s);
    if (kind === 'user') return emails.get(id) ?? <code>{actor}</code>;
    if (kind === 'key' && mayFindKeys) {
      return (
        <Link href={`/api-keys/${id}`}>
          key <code>{id}</code>
        </Link>
      );
    }
    return kind === 'system' ? `the gateway (${id})` : <code>{actor}</code>;
  };
}
