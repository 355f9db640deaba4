import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { Badge } from '../../ui/badge.tsx';
import { ConfirmButton } from '../../ui/confirm-button.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Loaded } from '../../ui/states.tsx';
import { useToast } from '../../ui/toast.tsx';
import { Time } from '../../ui/values.tsx';
import { EndOtherSessions, EndSession, Sessions, type SessionsQuery } from './security.generated.ts';

type Session = NonNullable<SessionsQuery['sessions']>[number];

const COLUMNS: readonly Column<Session>[] = [
  { header: 'Device', cell: ({ device }) => device },
  { header: 'Address', cell: ({ address }) => address },
  { header: 'Signed in', cell: ({ createdAt }) => <Time at={createdAt} />, isWhole: true },
  { header: 'Last used', cell: ({ lastSeenAt }) => <Time at={lastSeenAt} />, isWhole: true },
  {
    header: 'Actions',
    cell: (session) => (session.current ? <Badge status="THIS_ONE" /> : <End of={session} />),
    isWhole: true,
  },
];

/** The list of the person's sessions. */
export function SessionsSection() {
  const query = useApiQuery(Sessions, {});
  const toast = useToast();
  const endOthers = useApiMutation(EndOtherSessions, {
    refetches: [Sessions],
    onDone: () => toast({ text: 'Your other sessions have ended.' }),
  });
  return (
    <section className="card stack" aria-labelledby="sessions">
      <h2 id="sessions">Sessions</h2>
      <Loaded query={query}>
        {({ sessions }) => (
          <>
            <DataTable
              caption="Where you are signed in"
              columns={COLUMNS}
              rows={sessions}
              keyOf={({ id }) => id}
            />
            {sessions.length > 1 && (
              <div className="row">
                <ConfirmButton
                  title="End all other sessions?"
                  consequence="You stay signed in here only."
                  confirmLabel="End them"
                  onConfirm={() => endOthers.mutateAsync({})}
                >
                  End all others
                </ConfirmButton>
              </div>
            )}
          </>
        )}
      </Loaded>
    </section>
  );
}

function End({ of: { id, device, address } }: { of: Session }) {
  const toast = useToast();
  const end = useApiMutation(EndSession, {
    refetches: [Sessions],
    onDone: () => toast({ text: `The session of ${device} has ended.` }),
  });
  return (
    <ConfirmButton
      title={`End the session of ${device}?`}
      consequence={`The person who uses it, from ${address}, must sign in again.`}
      confirmLabel="End it"
      onConfirm={() => end.mutateAsync({ id })}
    >
      End <span className="visually-hidden">the session of {device}</span>
    </ConfirmButton>
  );
}
