import { useState } from 'react';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { usePermissions } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/code.tsx';
import { ConfirmButton } from '../../ui/confirm-button.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Dialog, DialogActions, ShownOnceDialog } from '../../ui/dialog.tsx';
import { CheckboxGroup, Field } from '../../ui/field.tsx';
import { Form, textOf, timeOf } from '../../ui/form.tsx';
import { Loaded } from '../../ui/states.tsx';
import { T } from '../../ui/t.tsx';
import { Time } from '../../ui/values.tsx';
import {
  AccessTokens,
  type AccessTokensQuery,
  CreateAccessToken,
  RevokeAccessToken,
} from './security.generated.ts';

type Token = NonNullable<AccessTokensQuery['accessTokens']>[number];

const COLUMNS: readonly Column<Token>[] = [
  { header: t('Name'), cell: ({ name }) => name },
  { header: t('Permissions'), cell: ({ permissions }) => permissions.join(', ') },
  { header: t('Last used'), cell: ({ lastUsedAt }) => <Time at={lastUsedAt} />, isWhole: true },
  { header: t('Ends'), cell: ({ expiresAt }) => <Time at={expiresAt} />, isWhole: true },
  { header: t('Actions'), cell: (token) => <Acts of={token} />, isWhole: true },
];

/** Operations that only read. Most programs need only these. */
const READS = /\.(list|find|get|slice|query|ledger|health|types|headers)\w*$/;
/** Operations that an access token must not run, or that only make sense for a person. */
const OF_PEOPLE = /^(session|secondFactor|accessToken|permission)\.|^member\.changePassword$/;

/** The access tokens of the person. Programs use them to call the GraphQL API. */
export function AccessTokensSection() {
  const query = useApiQuery(AccessTokens, {});
  const [isOpen, setIsOpen] = useState(false);
  return (
    <section className="card stack" aria-labelledby="access-tokens">
      <h2 id="access-tokens">{t('Access tokens')}</h2>
      <p>{t('A token lets a program, such as a dashboard, use some of your permissions over GraphQL.')}</p>
      <Loaded query={query}>
        {({ accessTokens }) =>
          accessTokens.length === 0 ? (
            <p className="quiet">{t('You have none.')}</p>
          ) : (
            <DataTable
              caption={t('Your tokens, ended ones too')}
              columns={COLUMNS}
              rows={accessTokens}
              keyOf={({ id }) => id}
            />
          )
        }
      </Loaded>
      <div className="row">
        <Button onClick={() => setIsOpen(true)}>{t('New access token')}</Button>
      </div>
      {isOpen && <NewToken onClose={() => setIsOpen(false)} />}
    </section>
  );
}

function Acts({ of: { id, name, revokedAt, expiresAt } }: { of: Token }) {
  const revoke = useApiMutation(RevokeAccessToken, { refetches: [AccessTokens] });
  if (revokedAt !== null) return <Badge status="REVOKED" />;
  if (Date.parse(expiresAt) <= Date.now()) return <Badge status="EXPIRED" />;
  return (
    <ConfirmButton
      title={t('Revoke {name}?', { name })}
      consequence={t('Programs that use it are refused at once.')}
      confirmLabel={t('Revoke')}
      onConfirm={() => revoke.mutateAsync({ id })}
    >
      <T text="Revoke {name}" name={<span className="visually-hidden">{name}</span>} />
    </ConfirmButton>
  );
}

function NewToken({ onClose }: { onClose: () => void }) {
  const permissions = usePermissions().filter((name) => !OF_PEOPLE.test(name));
  const create = useApiMutation(CreateAccessToken, { refetches: [AccessTokens] });
  const created = create.data?.createAccessToken;
  if (created)
    return (
      <ShownOnceDialog title={t('Your new access token')} onClose={onClose}>
        <CodeBlock text={created.token} label={t('access token')} />
      </ShownOnceDialog>
    );
  return (
    <Dialog title={t('New access token')} onClose={onClose} mustAnswer={create.isPending} look="wide">
      <Form
        label={t('New access token')}
        error={create.error}
        onSubmit={(values) =>
          create.mutate({
            input: {
              name: textOf(values, 'name'),
              permissions: values.getAll('permissions').map(String),
              expiresAt: timeOf(values, 'expiresAt') ?? '',
            },
          })
        }
      >
        <Field name="name" label={t('Name')} autoFocus />
        <Field name="expiresAt" label={t('Ends')} type="datetime-local" hint={t('At most a year ahead.')} />
        <CheckboxGroup
          name="permissions"
          label={t('Permissions')}
          hint={t('It never does more than your role allows at the time.')}
          options={[
            ...permissions.filter((name) => READS.test(name)),
            ...permissions.filter((name) => !READS.test(name)),
          ].map((name) => ({ value: name, label: name }))}
        />
        <DialogActions>
          <Button onClick={() => create.isPending || onClose()}>{t('Cancel')}</Button>
          <Button type="submit" look="primary" isBusy={create.isPending}>
            {t('Create token')}
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  );
}
