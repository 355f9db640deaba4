import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/code.tsx';
import { Dialog, DialogActions } from '../../ui/dialog.tsx';
import { Notice } from '../../ui/notice.tsx';
import type { CreateApiKeyMutation } from './api-keys.generated.ts';

/** Shows a new API key and its signing secret. Neither can be shown again. */
export function NewKeyDialog({
  created: { key, signingSecret },
  onClose,
}: {
  created: CreateApiKeyMutation['createApiKey'];
  onClose: () => void;
}) {
  const curl = `curl -s ${location.origin}/api/v1/account -H 'X-Api-Key: ${key}'`;
  return (
    <Dialog title="Your new key" onClose={onClose} mustAnswer>
      <Notice tone="warn">Copy it now: it is shown this once and can never be seen again.</Notice>
      <h3>Key</h3>
      <CodeBlock text={key} label="API key" />
      {signingSecret && (
        <>
          <h3>Signing secret</h3>
          <p>Every request with this key must be signed with it.</p>
          <CodeBlock text={signingSecret} label="signing secret" />
        </>
      )}
      {!signingSecret && (
        <>
          <h3>Try it</h3>
          <CodeBlock text={curl} label="curl command" />
        </>
      )}
      <DialogActions>
        <Button look="primary" onClick={onClose}>
          I have copied it
        </Button>
      </DialogActions>
    </Dialog>
  );
}
