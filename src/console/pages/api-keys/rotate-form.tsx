import { useLocation } from 'wouter';
import { refetch, useApiMutation } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { Select } from '../../ui/field.tsx';
import { Form, textOf } from '../../ui/form.tsx';
import { OVERLAPS } from '../../ui/overlaps.ts';
import { ApiKeyDetail, ApiKeys, type KeyRowFragment, RotateApiKey } from './api-keys.generated.ts';
import { NewKeyDialog } from './new-key-dialog.tsx';

/** Replaces an API key by a new one with the same properties, and shows the new key once. */
export function RotateForm({ of: key }: { of: KeyRowFragment }) {
  const [, navigate] = useLocation();
  const rotate = useApiMutation(RotateApiKey);
  const created = rotate.data?.rotateApiKey;
  return (
    <section className="card stack" aria-labelledby="rotate">
      <h2 id="rotate">{t('Rotate key')}</h2>
      <p>
        {t(
          'A new key with the same settings replaces this one. The old key keeps working for the time you choose.',
        )}
      </p>
      <Form
        label={t('Rotate the key')}
        error={rotate.error}
        onSubmit={(values) =>
          rotate.mutate({ keyId: key.keyId, overlapSeconds: Number(textOf(values, 'overlapSeconds')) })
        }
      >
        <Select name="overlapSeconds" label={t('The old key still works')} options={OVERLAPS} />
        <div className="row">
          <Button type="submit" isBusy={rotate.isPending}>
            {t('Rotate')}
          </Button>
        </div>
      </Form>
      {created && (
        <NewKeyDialog
          created={created}
          onClose={() => {
            void refetch(ApiKeyDetail, ApiKeys);
            navigate(`/api-keys/${created.apiKey.keyId}`);
          }}
        />
      )}
    </section>
  );
}
