import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/code.tsx';
import { Dialog, DialogActions } from '../../ui/dialog.tsx';
import { Notice } from '../../ui/notice.tsx';
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
    <Dialog title={title} onClose={onClose} mustAnswer isWide>
      <Notice tone="warn">Copy it now: it is shown this once and can never be seen again.</Notice>
      <CodeBlock text={secret} label="signing secret" />
      <h3>Check every delivery with it</h3>
      <p>
        Anybody can post to your URL. A delivery is genuine when its signature is that of the raw body, made
        with this secret.
      </p>
      <VerificationCode />
      <DialogActions>
        <Button look="primary" onClick={onClose}>
          I have copied it
        </Button>
      </DialogActions>
    </Dialog>
  );
}
