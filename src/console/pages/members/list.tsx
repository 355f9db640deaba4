import { useState } from 'react';
import { People } from '../../lib/people.generated.ts';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { Can, useViewer } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { Badge } from '../../ui/badge.tsx';
import { ButtonLink } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm-button.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { Loaded } from '../../ui/states.tsx';
import { T } from '../../ui/t.tsx';
import { useToast } from '../../ui/toast.tsx';
import { Time } from '../../ui/values.tsx';
import { ApiKeys } from '../api-keys/api-keys.generated.ts';
import { ChangeRole } from './change-role.tsx';
import { KeysBeyond, keysBeyond } from './keys-beyond.tsx';
import type { Member } from './member.ts';
import { Members, RemoveMember } from './members.generated.ts';
import { ResetFactors } from './reset-sign-in.tsx';
import { RoleTable } from './role-table.tsx';

const COLUMNS: readonly Column<Member>[] = [
  { header: t('Email'), cell: ({ email }) => email },
  { header: t('Role'), cell: ({ role }) => <Badge status={role} /> },
  {
    header: t('Password'),
    cell: ({ mustChangePassword }) =>
      mustChangePassword ? <Badge status="ONE_TIME" /> : <span className="quiet">{t('their own')}</span>,
  },
  { header: t('Added'), cell: ({ createdAt }) => <Time at={createdAt} />, isWhole: true },
  {
    header: t('Membership'),
    cell: ({ invitationExpiresAt }) => <Membership openUntil={invitationExpiresAt} />,
  },
];
const ACTS: Column<Member> = { header: t('Actions'), cell: (member) => <Acts of={member} />, isWhole: true };

/** Shows whether a person has accepted the invitation, and otherwise until when it is valid. */
function Membership({ openUntil }: { openUntil: string | null }) {
  if (openUntil === null) return <span className="quiet">{t('accepted')}</span>;
  return <T text="{badge} until {time}" badge={<Badge status="PENDING" />} time={<Time at={openUntil} />} />;
}

/** The list of the account's people and their roles. */
export default function MembersPage() {
  const query = useApiQuery(Members, {});
  const { role } = useViewer();
  const mayManage = role === 'OWNER' || role === 'ADMIN';
  return (
    <>
      <PageHeader title={t('Members')}>
        <Can
          run="member.invite"
          otherwise={<span className="quiet">{t('Owners and admins invite people and change roles.')}</span>}
        >
          <ButtonLink href="/members/invite" look="primary">
            {t('Invite a person')}
          </ButtonLink>
        </Can>
      </PageHeader>
      <Loaded query={query}>
        {({ members }) => (
          <DataTable
            caption={t('Everybody who can sign in to this account')}
            columns={mayManage ? [...COLUMNS, ACTS] : COLUMNS}
            rows={members}
            keyOf={({ id }) => id}
          />
        )}
      </Loaded>
      <RoleTable />
    </>
  );
}

function Acts({ of }: { of: Member }) {
  const viewer = useViewer();
  // People cannot remove themselves. Another owner or admin can do it.
  if (of.id === viewer.id) return <span className="quiet">{t('This is you')}</span>;
  if (of.role === 'OWNER' && viewer.role !== 'OWNER') {
    return <span className="quiet">{t('Only owners change owners')}</span>;
  }
  return (
    <span className="row">
      <ChangeRole of={of} />
      <ResetFactors of={of} />
      <Remove of={of} />
    </span>
  );
}

function Remove({ of: member }: { of: Member }) {
  const { id, email, invitationExpiresAt } = member;
  const toast = useToast();
  const [keepKeys, setKeepKeys] = useState(false);
  // An invited person may have created keys already. Then the dialog for members is shown, because it asks about keys.
  const isPending = invitationExpiresAt !== null && keysBeyond(member, null).length === 0;
  const remove = useApiMutation(RemoveMember, {
    refetches: [Members, People, ApiKeys],
    onDone: () =>
      toast({
        text: isPending
          ? t('{email} is not invited any more.', { email })
          : t('{email} is removed.', { email }),
      }),
  });
  if (isPending) {
    return (
      <ConfirmButton
        title={t('Withdraw the invitation of {email}?', { email })}
        consequence={t(
          'The one-time password stops working, and they are signed out where they have used it. You can invite them again.',
        )}
        confirmLabel={t('Withdraw')}
        onConfirm={() => remove.mutateAsync({ userId: id })}
      >
        <T
          text="Withdraw <span>the invitation of {email}</span>"
          span={<span className="visually-hidden" />}
          email={email}
        />
      </ConfirmButton>
    );
  }
  return (
    <ConfirmButton
      title={t('Remove {email}?', { email })}
      consequence={
        <div className="stack">
          <p>
            {t(
              'They are signed out everywhere and cannot sign in again. What they did stays in the audit log.',
            )}
          </p>
          <KeysBeyond keys={keysBeyond(member, null)} isKept={keepKeys} onChange={setKeepKeys} />
        </div>
      }
      confirmLabel={t('Remove')}
      onConfirm={() => remove.mutateAsync({ userId: id, keepKeys })}
    >
      <T text="Remove {email}" email={<span className="visually-hidden">{email}</span>} />
    </ConfirmButton>
  );
}
