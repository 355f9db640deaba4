import { formatCountry } from '../../lib/format.ts';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Badge } from '../../ui/badge.tsx';
import { ConfirmButton } from '../../ui/confirm-button.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Loaded } from '../../ui/states.tsx';
import { T } from '../../ui/t.tsx';
import { useToast } from '../../ui/toast.tsx';
import { Time } from '../../ui/values.tsx';
import { EndOtherSessions, EndSession, Sessions, type SessionsQuery } from './security.generated.ts';

type Session = NonNullable<SessionsQuery['sessions']>[number];

const COLUMNS: readonly Column<Session>[] = [
  { header: t('Device'), cell: ({ device }) => device },
  { header: t('Address'), cell: ({ address }) => address },
  { header: t('Country'), cell: ({ country }) => (country === null ? '–' : formatCountry(country)) },
  { header: t('Signed in'), cell: ({ createdAt }) => <Time at={createdAt} />, isWhole: true },
  { header: t('Last used'), cell: ({ lastSeenAt }) => <Time at={lastSeenAt} />, isWhole: true },
  {
    header: t('Actions'),
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
    onDone: () => toast({ text: t('Your other sessions have ended.') }),
  });
  return (
    <section className="card stack" aria-labelledby="sessions">
      <h2 id="sessions">{t('Sessions')}</h2>
      <Loaded query={query}>
        {({ sessions }) => (
          <>
            <DataTable
              caption={t('Where you are signed in')}
              columns={COLUMNS}
              rows={sessions}
              keyOf={({ id }) => id}
            />
            {sessions.length > 1 && (
              <div className="row">
                <ConfirmButton
                  title={t('End all other sessions?')}
                  consequence={t('You stay signed in here only.')}
                  confirmLabel={t('End them')}
                  onConfirm={() => endOthers.mutateAsync({})}
                >
                  {t('End all others')}
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
    onDone: () => toast({ text: t('The session of {device} has ended.', { device }) }),
  });
  return (
    <ConfirmButton
      title={t('End the session of {device}?', { device })}
      consequence={t('The person who uses it, from {address}, must sign in again.', { address })}
      confirmLabel={t('End it')}
      onConfirm={() => end.mutateAsync({ id })}
    >
      <T
        text="End <span>the session of {device}</span>"
        span={<span className="visually-hidden" />}
        device={device}
      />
    </ConfirmButton>
  );
}
