import { useState } from 'react';
import { useApiMutation } from '../../lib/queries.ts';
import { Can } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { ConfirmButton } from '../../ui/confirm-button.tsx';
import { PasswordDialog } from '../../ui/password-dialog.tsx';
import { T } from '../../ui/t.tsx';
import { useToast } from '../../ui/toast.tsx';
import { ResetMemberFactors, ResetMemberPassword } from './members.generated.ts';

/** Removes the second factors of a person who has lost them (R251). Renders nothing without the permission. */
export function ResetFactors({ of: { id, email } }: { of: { readonly id: string; readonly email: string } }) {
  const toast = useToast();
  const reset = useApiMutation(ResetMemberFactors, {
    onDone: () => toast({ text: t('{email} has no second factor any more.', { email }) }),
  });
  return (
    <Can run="secondFactor.reset">
      <ConfirmButton
        title={t('Reset the second factors of {email}?', { email })}
        consequence={t(
          'Their authenticator app, passkeys and recovery codes stop working, and they are signed out everywhere. Then their password alone signs them in, until they add a second factor. They get a mail if mails can be sent. Make sure first that it is really them who asks.',
        )}
        confirmLabel={t('Reset second factors')}
        onConfirm={() => reset.mutateAsync({ userId: id })}
      >
        <T
          text="Reset second factors <span>of {email}</span>"
          span={<span className="visually-hidden" />}
          email={email}
        />
      </ConfirmButton>
    </Can>
  );
}

/** Replaces a lost password by a one-time password, which is shown once. Renders nothing without the permission. */
export function ResetPassword({
  of: { email },
  accountId,
}: {
  of: { readonly email: string };
  accountId: string;
}) {
  const [password, setPassword] = useState<string>();
  const reset = useApiMutation(ResetMemberPassword, {
    onDone: ({ resetUserPassword }) => setPassword(resetUserPassword.password),
  });
  return (
    <Can run="member.resetPassword">
      <ConfirmButton
        title={t('Reset the password of {email}?', { email })}
        consequence={t(
          'Their password stops working, and their sessions and access tokens end. They sign in with a one-time password, which you see once and which is valid for 72 hours. Make sure first that it is really them who asks.',
        )}
        confirmLabel={t('Reset password')}
        onConfirm={() => reset.mutateAsync({ email, accountId })}
      >
        <T
          text="Reset password <span>of {email}</span>"
          span={<span className="visually-hidden" />}
          email={email}
        />
      </ConfirmButton>
      {password !== undefined && (
        <PasswordDialog
          title={t('{email} has a one-time password', { email })}
          email={email}
          password={password}
          onClose={() => setPassword(undefined)}
        />
      )}
    </Can>
  );
}
