import { t } from '../../lib/words.ts';
import { CodeBlock } from '../../ui/code.tsx';
import { ShownOnceDialog } from '../../ui/dialog.tsx';
import { VerificationCode } from './verification-code.tsx';

/** Shows a webhook's new secret and the code that verifies signatures with it. The secret cannot be shown again. */
export function SecretDialog({
  title,
  secret,
  onClose,
}: {
  title: string;
  secret: string;
  onClose: () => void;
}) {
  return (
    <ShownOnceDialog title={title} onClose={onClose} look="wide">
      <CodeBlock text={secret} label={t('signing secret')} />
      <h3>{t('Check every delivery with it')}</h3>
      <p>
        {t(
          'Anybody can post to your URL. A delivery is genuine when its signature is that of the raw body, made with this secret.',
        )}
      </p>
      <VerificationCode />
    </ShownOnceDialog>
  );
}
