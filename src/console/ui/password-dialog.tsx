import { t } from '../lib/words.ts';
import { CodeBlock } from './code.tsx';
import { ShownOnceDialog } from './dialog.tsx';

/** Shows the one-time password of a new person. The password cannot be shown again. */
export function PasswordDialog({
  title,
  email,
  password,
  isMailed = false,
  onClose,
}: {
  title: string;
  email: string;
  password: string;
  /**
   * True if the person also gets an email with a link. They then need the password only if the email does not arrive.
   */
  isMailed?: boolean;
  onClose: () => void;
}) {
  return (
    <ShownOnceDialog
      title={title}
      notice={t('Copy the password now: it is shown only once.')}
      onClose={onClose}
    >
      <p>
        {isMailed
          ? t(
              'A mail with a link is on its way. If it does not arrive, share these through a secure channel.',
            )
          : t(
              'Share these through a secure channel. The console asks for a new password at the first sign-in.',
            )}
      </p>
      <h3>{t('Address')}</h3>
      <CodeBlock text={`${location.origin}/console`} label={t('address of the console')} />
      <h3>{t('Email')}</h3>
      <CodeBlock text={email} label={t('email')} />
      <h3>{t('One-time password')}</h3>
      <CodeBlock text={password} label={t('one-time password')} />
    </ShownOnceDialog>
  );
}
