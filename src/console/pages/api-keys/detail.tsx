import { useState } from 'react';
import { Link, useParams } from 'wouter';
import { counted } from '../../lib/counts.ts';
import { formatName, formatNumber } from '../../lib/format.ts';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { useViewer } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Id } from '../../ui/code.tsx';
import { ConfirmButton } from '../../ui/confirm-button.tsx';
import { Checkbox } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { Notice } from '../../ui/notice.tsx';
import { Loaded } from '../../ui/states.tsx';
import { useToast } from '../../ui/toast.tsx';
import { KeyValues, Time } from '../../ui/values.tsx';
import {
  ApiKeyDetail,
  type ApiKeyDetailQuery,
  ApiKeys,
  RevokeApiKey,
  type Scope,
  UpdateApiKey,
} from './api-keys.generated.ts';
import { KeyFields, keyPropertiesOf } from './key-fields.tsx';
import { KeyNames, livingOf } from './key-names.tsx';
import { statusOf, useMayManage } from './key-rules.ts';
import { ProductionDialog } from './production-dialog.tsx';
import { RotateForm } from './rotate-form.tsx';
import { ScopeUse } from './scope-use.tsx';

type Key = NonNullable<ApiKeyDetailQuery['apiKey']>;

/** The page of one API key: its properties, and forms to change, rotate and revoke it. */
export default function ApiKeyPage() {
  const { keyId } = useParams<{ keyId: string }>();
  const query = useApiQuery(ApiKeyDetail, { id: keyId });
  return <Loaded query={query}>{({ apiKey }) => <KeyDetail key={apiKey.keyId} of={apiKey} />}</Loaded>;
}

function KeyDetail({ of: key }: { of: Key }) {
  const mayManage = useMayManage(key);
  const { role } = useViewer();
  const status = statusOf(key, new Date());
  return (
    <>
      <PageHeader title={key.name}>
        <Badge status={status} />
        <Badge status={key.environment} />
        {mayManage && <Revoke of={key} isActive={status === 'ACTIVE'} />}
      </PageHeader>
      {!mayManage && (
        <Notice>
          {role === 'DEVELOPER'
            ? t('Your role, Developer, changes only the keys you made yourself, and none with full access.')
            : t('Your role, {role}, can read this key, not change it.', { role: formatName(role) })}
        </Notice>
      )}
      <div className="columns">
        <div className="stack">
          <section className="card stack" aria-labelledby="facts">
            <h2 id="facts">{t('The key')}</h2>
            <KeyValues items={factsOf(key)} />
          </section>
          <ScopeUse uses={key.scopeUse} />
        </div>
        {mayManage && status === 'ACTIVE' && (
          <div className="stack">
            <Edit of={key} />
            <RotateForm of={key} />
          </div>
        )}
      </div>
    </>
  );
}

function factsOf(key: Key): Parameters<typeof KeyValues>[0]['items'] {
  const limit = (value: number | null) => (value === null ? t("the plan's") : formatNumber(value));
  return [
    [t('Key id'), <Id key="id" of={key.keyId} label={t('Key id')} />],
    [t('Scopes'), key.scopes.map(formatName).join(', ')],
    [t('Addresses'), key.ipAllowlist.length === 0 ? t('every address') : key.ipAllowlist.join(', ')],
    [t('Signed requests'), key.enableHmac ? 'required' : t('not required')],
    [t('Limit per minute'), limit(key.rateLimit.perMinute)],
    [t('Limit per second'), limit(key.rateLimit.perSecond)],
    [t('Last used'), <Time key="used" at={key.lastUsedAt} />],
    [t('Created'), <Time key="created" at={key.createdAt} />],
    [t('Ends'), <Time key="ends" at={key.expiresAt} />],
    ...(key.replacedBy ? [[t('Replaced by'), <KeyLink key="successor" to={key.replacedBy} />] as const] : []),
    ...(key.replaces ? [[t('Replaces'), <KeyLink key="predecessor" to={key.replaces} />] as const] : []),
    ...(key.revokedAt ? [[t('Revoked'), <Time key="revoked" at={key.revokedAt} />] as const] : []),
  ];
}

function KeyLink({ to: { keyId, name } }: { to: NonNullable<Key['replaces']> }) {
  return (
    <Link href={`/api-keys/${keyId}`}>
      {name} <code>{keyId}</code>
    </Link>
  );
}

function Edit({ of: key }: { of: Key }) {
  const toast = useToast();
  const update = useApiMutation(UpdateApiKey, { refetches: [ApiKeyDetail, ApiKeys] });
  const [undone, setUndone] = useState(0);
  const [asked, setAsked] = useState<ReturnType<typeof keyPropertiesOf>>();
  const save = async (input: ReturnType<typeof keyPropertiesOf>) => {
    await update.mutateAsync({ keyId: key.keyId, input }).then(
      () => {
        const { name, scopes, environment, ipAllowlist, expiresAt } = key;
        const before = { name, scopes, environment, ipAllowlist, expiresAt };
        toast({
          text: t('Saved; it holds from the next request on.'),
          undo: () =>
            update.mutateNext(
              { keyId: key.keyId, input: before },
              { onSuccess: () => setUndone((times) => times + 1) },
            ),
        });
      },
      // The form shows the error from `update.error`.
      () => undefined,
    );
  };
  return (
    <section className="card stack" aria-labelledby="edit">
      <h2 id="edit">{t('Edit')}</h2>
      <Form
        // An undo changes the React key, so that the form is rendered again with the stored values.
        key={undone}
        label={t('Change the key')}
        error={update.error}
        onSubmit={(values) => {
          const input = keyPropertiesOf(values, key);
          const isOpened = key.environment !== 'PRODUCTION' || addedScopes(key, input).length > 0;
          if (input.environment === 'PRODUCTION' && isOpened) setAsked(input);
          else void save(input);
        }}
      >
        <KeyFields of={key} />
        <div className="row">
          <Button type="submit" look="primary" isBusy={update.isPending}>
            {t('Save')}
          </Button>
        </div>
      </Form>
      {asked && (
        <ProductionDialog
          name={asked.name}
          scopes={key.environment === 'PRODUCTION' ? addedScopes(key, asked) : asked.scopes}
          isMore={key.environment === 'PRODUCTION'}
          confirmLabel={key.environment === 'PRODUCTION' ? t('Give these scopes') : t('Open production')}
          onConfirm={async () => void save(asked)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </section>
  );
}

/** Returns the scopes that an edit gives to the key. A key with FULL_ACCESS has all of them already. */
function addedScopes(
  { scopes }: Pick<Key, 'scopes'>,
  edited: Pick<ReturnType<typeof keyPropertiesOf>, 'scopes'>,
): readonly Scope[] {
  return scopes.includes('FULL_ACCESS') ? [] : edited.scopes.filter((scope) => !scopes.includes(scope));
}

function Revoke({ of: key, isActive }: { of: Key; isActive: boolean }) {
  const revoke = useApiMutation(RevokeApiKey, { refetches: [ApiKeyDetail, ApiKeys] });
  const [isChecked, setIsChecked] = useState(false);
  const descendants = livingOf(key.descendants);
  const count = counted(descendants.length, 'key');
  if (!isActive && descendants.length === 0) return null;
  // A revoked or expired key cannot be revoked itself. The keys that it created or rotated still can.
  const withDescendants = !isActive || isChecked;
  const consequence = (
    <div className="stack">
      <p>
        {isActive
          ? t('Programs that use it are refused from their next request on. A revoked key never works again.')
          : t('It works no more. It made or rotated {count}, directly or through them:', { count })}
      </p>
      {isActive && descendants.length > 0 && (
        <Checkbox
          name="withDescendants"
          label={t('Also revoke {count} that it made or rotated', { count })}
          hint={t('If the key has leaked, the person who has it knows these keys, too.')}
          checked={isChecked}
          onChange={(event) => setIsChecked(event.currentTarget.checked)}
        />
      )}
      {descendants.length > 0 && <KeyNames keys={descendants} />}
    </div>
  );
  return (
    <ConfirmButton
      title={
        isActive
          ? t('Revoke “{name}”?', { name: key.name })
          : t('Revoke what “{name}” made?', { name: key.name })
      }
      consequence={consequence}
      confirmLabel={
        withDescendants && isActive ? t('Revoke it and {count} for good', { count }) : t('Revoke for good')
      }
      onConfirm={() => revoke.mutateAsync({ keyId: key.keyId, withDescendants })}
    >
      {isActive ? t('Revoke') : t('Revoke what it made')}
    </ConfirmButton>
  );
}
