import { CodeBlock } from '../../ui/code.tsx';
import { ShownOnceDialog } from '../../ui/dialog.tsx';
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
    <ShownOnceDialog title="Your new key" onClose={onClose}>
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
    </ShownOnceDialog>
  );
}
