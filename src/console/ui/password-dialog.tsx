import { Button } from './button.tsx';
import { CodeBlock } from './code.tsx';
import { Dialog, DialogActions } from './dialog.tsx';
import { Notice } from './notice.tsx';

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
    <Dialog title={title} onClose={onClose} mustAnswer>
      <Notice tone="warn">Copy the password now: it is shown only once.</Notice>
      <p>
        {isMailed
          ? 'A mail with a link is on its way. If it does not arrive, share these through a secure channel.'
          : 'Share these through a secure channel. The console asks for a new password at the first sign-in.'}
      </p>
      <h3>Address</h3>
      <CodeBlock text={`${location.origin}/console`} label="address of the console" />
      <h3>Email</h3>
      <CodeBlock text={email} label="email" />
      <h3>One-time password</h3>
      <CodeBlock text={password} label="one-time password" />
      <DialogActions>
        <Button look="primary" onClick={onClose}>
          I have copied it
        </Button>
      </DialogActions>
    </Dialog>
  );
}
