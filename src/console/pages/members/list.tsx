import { People } from '../../lib/people.generated.ts';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { Can, useViewer } from '../../lib/session.tsx';
import { Badge } from '../../ui/badge.tsx';
import { ButtonLink } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm-button.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { Loaded } from '../../ui/states.tsx';
import { useToast } from '../../ui/toast.tsx';
import { Time } from '../../ui/values.tsx';
import { ChangeRole } from './change-role.tsx';
import type { Member } from './member.ts';
import { Members, RemoveMember } from './members.generated.ts';
import { RoleTable } from './role-table.tsx';

const COLUMNS: readonly Column<Member>[] = [
  { header: 'Email', cell: ({ email }) => email },
  { header: 'Role', cell: ({ role }) => <Badge status={role} /> },
  {
    header: 'Password',
    cell: ({ mustChangePassword }) =>
      mustChangePassword ? <Badge status="ONE_TIME" /> : <span className="quiet">their own</span>,
  },
  { header: 'Added', cell: ({ createdAt }) => <Time at={createdAt} />, isWhole: true },
];
const ACTS: Column<Member> = { header: 'Actions', cell: (member) => <Acts of={member} />, isWhole: true };

/** The people of the account and their roles. */
export default function MembersPage() {
  const query = useApiQuery(Members, {});
  const { role } = useViewer();
  const mayManage = role === 'OWNER' || role === 'ADMIN';
  return (
    <>
      <PageHeader title="Members">
        <Can
          run="member.invite"
          otherwise={<span className="quiet">Owners and admins invite people and change roles.</span>}
        >
          <ButtonLink href="/members/invite" look="primary">
            Invite a person
          </ButtonLink>
        </Can>
      </PageHeader>
      <Loaded query={query}>
        {({ members }) => (
          <DataTable
            caption="Everybody who can sign in to this account"
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
  // Nobody shuts themselves out; another owner or admin can.
  if (of.id === viewer.id) return <span className="quiet">This is you</span>;
  if (of.role === 'OWNER' && viewer.role !== 'OWNER') {
    return <span className="quiet">Only owners change owners</span>;
  }
  return (
    <span className="row">
      <ChangeRole of={of} />
      <Remove of={of} />
    </span>
  );
}

function Remove({ of: { id, email } }: { of: Member }) {
  const toast = useToast();
  const remove = useApiMutation(RemoveMember, {
    refetches: [Members, People],
    onDone: () => toast({ text: `${email} is removed.` }),
  });
  return (
    <ConfirmButton
      title={`Remove ${email}?`}
      consequence="They are signed out everywhere and cannot sign in again. The keys they made go on working, and what they did stays in the audit log."
      confirmLabel="Remove"
      onConfirm={() => remove.mutateAsync({ userId: id })}
    >
      Remove <span className="visually-hidden">{email}</span>
    </ConfirmButton>
  );
}
