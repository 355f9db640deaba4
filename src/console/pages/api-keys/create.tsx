import { useLocation } from 'wouter';
import { useApiMutation } from '../../lib/queries.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Checkbox } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { ApiKeys, CreateApiKey } from './api-keys.generated.ts';
import { KeyFields, keyPropertiesOf } from './key-fields.tsx';
import { NewKeyDialog } from './new-key-dialog.tsx';

/** Makes a key and shows it once. */
export default function CreateApiKeyPage() {
  const [, navigate] = useLocation();
  const create = useApiMutation(CreateApiKey, { refetches: [ApiKeys] });
  const created = create.data?.createApiKey;
  return (
    <>
      <PageHeader title="New API key" />
      <Form
        label="New API key"
        error={create.error}
        onSubmit={(values) =>
          create.mutate({
            input: { ...keyPropertiesOf(values), enableHmac: values.has('enableHmac') },
          })
        }
      >
        <KeyFields />
        <Checkbox
          name="enableHmac"
          label="Every request must be signed (HMAC)"
          hint="A stolen key is then worth nothing without the signing secret. It cannot be changed later."
        />
        <div className="row">
          <Button type="submit" look="primary" isBusy={create.isPending}>
            Create key
          </Button>
          <ButtonLink href="/api-keys">Cancel</ButtonLink>
        </div>
      </Form>
      {created && (
        <NewKeyDialog created={created} onClose={() => navigate(`/api-keys/${created.apiKey.keyId}`)} />
      )}
    </>
  );
}
