import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import { useApiMutation } from '../../lib/queries.ts';
import { AcceptInvitation, RequestPasswordReset, ResetPassword } from '../../lib/session.generated.ts';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/code.tsx';
import { Field } from '../../ui/field.tsx';
import { Form, textOf } from '../../ui/form.tsx';
import { Notice } from '../../ui/notice.tsx';
import { AcceptWithPasskey } from './accept-with-passkey.tsx';
import { PublicPage } from './public-page.tsx';

/** Asks for an email with a link to set a new password. */
export function ForgotPasswordPage() {
  const request = useApiMutation(RequestPasswordReset);
  const isSent = request.data?.requestPasswordReset;
  return (
    <PublicPage title={t('Lost password')}>
      {isSent === true && (
        <Notice tone="good">
          {t('If somebody signs in with this email, a mail with a link is on its way. It works for an hour.')}
        </Notice>
      )}
      {isSent === false && (
        <Notice tone="warn">
          {t('This gateway sends no mails. Ask an operator of the platform for a one-time password.')}
        </Notice>
      )}
      {isSent === undefined && (
        <Form
          label={t('Lost password')}
          error={request.error}
          onSubmit={(values) => request.mutate({ email: textOf(values, 'email') })}
        >
          <Field name="email" label={t('Email')} type="email" autoComplete="username" autoFocus />
          <Button type="submit" look="primary" isBusy={request.isPending}>
            {t('Send me a link')}
          </Button>
        </Form>
      )}
      <p>
        <Link href="/sign-in">{t('Back to the sign-in')}</Link>
      </p>
    </PublicPage>
  );
}

export function ResetPasswordPage() {
  return <SetPassword title={t('Choose another password')} document={ResetPassword} />;
}

export function AcceptInvitationPage() {
  return <SetPassword title={t('Accept the invitation')} document={AcceptInvitation} />;
}

/** Sets a password. The token in the URL proves that the person received the email. */
function SetPassword({
  title,
  document,
}: {
  title: string;
  document: typeof ResetPassword | typeof AcceptInvitation;
}) {
  const [token] = useState(() => new URLSearchParams(location.search).get('token') ?? '');
  // Removes the token from the URL and the browser's history, because it is a secret.
  useEffect(() => history.replaceState(null, '', location.pathname), []);
  const set = useApiMutation(document as typeof ResetPassword);
  const [codes, setCodes] = useState<readonly string[]>();
  const ended = set.error?.fields.find(({ path }) => path === 'token');
  return (
    <PublicPage title={title}>
      {set.data || codes ? (
        <>
          <Notice tone="good">{codes ? t('Your passkey signs you in.') : t('Your password is set.')}</Notice>
          {codes && (
            <>
              <p>
                {t(
                  'Keep these recovery codes: each stands in once for a lost passkey. They are shown only now.',
                )}
              </p>
              <CodeBlock text={codes.join('\n')} label={t('recovery codes')} />
            </>
          )}
          <p>
            <Link href="/sign-in">{t('Sign in')}</Link>
          </p>
        </>
      ) : (
        <>
          <Form
            label={title}
            error={set.error}
            onSubmit={(values) => set.mutate({ token, password: String(values.get('password')) })}
          >
            <Field
              name="password"
              label={t('New password')}
              type="password"
              autoComplete="new-password"
              hint={t('12 characters or more, without the name of your email.')}
              autoFocus
            />
            <Button type="submit" look="primary" isBusy={set.isPending}>
              {t('Set password')}
            </Button>
          </Form>
          {document === AcceptInvitation && <AcceptWithPasskey token={token} onAccepted={setCodes} />}
          {ended && document === ResetPassword && (
            <p>
              <Link href="/forgot-password">{t('Ask for another link')}</Link>
            </p>
          )}
        </>
      )}
    </PublicPage>
  );
}
