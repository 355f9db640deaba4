import { useLocation } from 'wouter';
import { formatName } from '../../lib/format.ts';
import { People } from '../../lib/people.generated.ts';
import { useApiMutation } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Field } from '../../ui/field.tsx';
import { Form, textOf } from '../../ui/form.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { PasswordDialog } from '../../ui/password-dialog.tsx';
import { InviteMember, Members } from './members.generated.ts';
import type { AccountRole } from './role-facts.ts';
import { RoleSelect } from './role-select.tsx';
import { RoleTable } from './role-table.tsx';

/** Invites a person to the account and shows the person's one-time password. */
export default function InviteMemberPage() {
  const [, navigate] = useLocation();
  const invite = useApiMutation(InviteMember, { refetches: [Members, People] });
  const invited = invite.data?.inviteMember;
  return (
    <>
      <PageHeader title={t('Invite a person')} />
      <Form
        label={t('Invite a person')}
        error={invite.error}
        onSubmit={(values) =>
          invite.mutate({ email: textOf(values, 'email'), role: textOf(values, 'role') as AccountRole })
        }
      >
        <Field
          name="email"
          label={t('Email')}
          type="email"
          autoComplete="off"
          hint={t('They sign in with it, and choose their own password within 72 hours.')}
        />
        <RoleSelect chosen="DEVELOPER" />
        <div className="row">
          <Button type="submit" look="primary" isBusy={invite.isPending}>
            {t('Invite')}
          </Button>
          <ButtonLink href="/members">{t('Cancel')}</ButtonLink>
        </div>
      </Form>
      <RoleTable />
      {invited && (
        <PasswordDialog
          title={t('{email} is invited as {role}', {
            email: invited.user.email,
            role: formatName(invited.user.role),
          })}
          email={invited.user.email}
          password={invited.password}
          isMailed={invited.mailed}
          onClose={() => navigate('/members')}
        />
      )}
    </>
  );
}
