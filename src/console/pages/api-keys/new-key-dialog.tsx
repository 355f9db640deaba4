import { t } from '../../lib/words.ts';
import { CodeBlock } from '../../ui/code.tsx';
import { ShownOnceDialog } from '../../ui/dialog.tsx';
import { RequestSamples } from '../../ui/request-samples.tsx';
import type { CreateApiKeyMutation } from './api-keys.generated.ts';

/** Shows a new API key and its signing secret. Neither can be shown again. */
export function NewKeyDialog({
  created: { key, signingSecret },
  onClose,
}: {
  created: CreateApiKeyMutation['createApiKey'];
  onClose: () => void;
}) {
  const reading = { method: 'GET', url: `${location.origin}/api/v1/account`, key } as const;
  return (
    <ShownOnceDialog title={t('Your new key')} onClose={onClose}>
      <h3>{t('Key')}</h3>
      <CodeBlock text={key} label={t('API key')} />
      {signingSecret && (
        <>
          <h3>{t('Signing secret')}</h3>
          <p>{t('Every request with this key must be signed with it.')}</p>
          <CodeBlock text={signingSecret} label={t('signing secret')} />
        </>
      )}
      {!signingSecret && (
        <>
          <h3>{t('Try it')}</h3>
          <RequestSamples of={reading} does={t('reads the account')} />
        </>
      )}
    </ShownOnceDialog>
  );
}
