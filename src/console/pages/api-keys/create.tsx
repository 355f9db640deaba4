import { useState } from 'react';
import { useLocation } from 'wouter';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { useViewer } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Checkbox } from '../../ui/field.tsx';
import { useFilter } from '../../ui/filters.tsx';
import { Form } from '../../ui/form.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { OperatedAccount } from '../operator/operator.generated.ts';
import { ApiKeys, CreateApiKey } from './api-keys.generated.ts';
import { KeyFields, keyPropertiesOf } from './key-fields.tsx';
import { NewKeyDialog } from './new-key-dialog.tsx';
import { ProductionDialog } from './production-dialog.tsx';

/** Creates an API key and shows it once. Operators create it for the account whose id is in the URL. */
export default function CreateApiKeyPage() {
  const { account } = useViewer();
  const named = useFilter('account');
  if (account)
    return <CreateKey accountId={null} back="/api-keys" pageOf={(keyId) => `/api-keys/${keyId}`} />;
  if (named) return <CreateKeyFor id={named} />;
  return (
    <EmptyState title={t('For which account?')}>
      <p>{t('A key belongs to an account, and is made from its page.')}</p>
      <ButtonLink href="/accounts">{t('Accounts')}</ButtonLink>
    </EmptyState>
  );
}

/** For operators: shows the form with the name of the account that will own the key. */
function CreateKeyFor({ id }: { id: string }) {
  const query = useApiQuery(OperatedAccount, { id });
  const back = `/accounts/${id}`;
  return (
    <Loaded query={query}>
      {({ account }) => (
        <CreateKey accountId={account.id} owner={account.name} back={back} pageOf={() => back} />
      )}
    </Loaded>
  );
}

function CreateKey({
  accountId,
  owner,
  back,
  pageOf,
}: {
  /** Operators give the account that will own the key. Null means the own account. */
  accountId: string | null;
  /** Name of the account `accountId`, for the texts of the form. */
  owner?: string;
  /** Path of the page to open after a cancel. */
  back: string;
  /** Returns the path of the page to open for the new key. */
  pageOf: (keyId: string) => string;
}) {
  const [, navigate] = useLocation();
  const create = useApiMutation(CreateApiKey, { refetches: [ApiKeys] });
  const created = create.data?.createApiKey;
  const [asked, setAsked] = useState<Parameters<typeof create.mutate>[0]['input']>();
  return (
    <>
      <PageHeader title={owner === undefined ? t('New API key') : t('New API key for {owner}', { owner })} />
      <Form
        label={t('New API key')}
        error={create.error}
        onSubmit={(values) => {
          const input = { ...keyPropertiesOf(values), enableHmac: values.has('enableHmac'), accountId };
          if (input.environment === 'PRODUCTION' && input.name !== '' && input.scopes.length > 0)
            setAsked(input);
          else create.mutate({ input });
        }}
      >
        <KeyFields />
        <Checkbox
          name="enableHmac"
          label={t('Every request must be signed (HMAC)')}
          hint={t(
            'A stolen key is then worth nothing without the signing secret. It cannot be changed later.',
          )}
        />
        <div className="row">
          <Button type="submit" look="primary" isBusy={create.isPending}>
            {t('Create key')}
          </Button>
          <ButtonLink href={back}>{t('Cancel')}</ButtonLink>
        </div>
      </Form>
      {asked && (
        <ProductionDialog
          name={asked.name}
          scopes={asked.scopes}
          confirmLabel={t('Create for production')}
          onConfirm={async () => create.mutate({ input: asked })}
          onClose={() => setAsked(undefined)}
        />
      )}
      {created && <NewKeyDialog created={created} onClose={() => navigate(pageOf(created.apiKey.keyId))} />}
    </>
  );
}
