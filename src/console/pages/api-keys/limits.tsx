import { useState } from 'react';
import { Link } from 'wouter';
import { formatNumber } from '../../lib/format.ts';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Id } from '../../ui/code.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { Filters, useFilter } from '../../ui/filters.tsx';
import { Form, textOf } from '../../ui/form.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { Notice } from '../../ui/notice.tsx';
import { PAGE_SIZE, PagedTable } from '../../ui/paged-table.tsx';
import { useAfter } from '../../ui/pager.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { useToast } from '../../ui/toast.tsx';
import { KeyValues } from '../../ui/values.tsx';
import { type AccountRowFragment, Accounts } from '../operator/operator.generated.ts';
import { KeysOfAccount, type KeysOfAccountQuery, SetRateLimit } from './api-keys.generated.ts';
import { statusOf } from './key-rules.ts';

type Owner = NonNullable<KeysOfAccountQuery['account']>;
type Key = NonNullable<Owner['apiKeys']>[number];

const KEY_ID = /^[0-9a-f]{16}$/;

const COLUMNS: readonly Column<AccountRowFragment>[] = [
  { header: t('Name'), cell: ({ name }) => name },
  { header: t('Email'), cell: ({ email }) => email },
  { header: t('Plan'), cell: ({ plan }) => plan?.name ?? <span className="quiet">{t('none')}</span> },
];

/** A limit that the key has now: its own, and that of the plan. */
interface Present {
  readonly name: string;
  readonly own: number | null;
  readonly ofPlan: number | undefined;
}

const numberOf = (limit: number) => (limit === 0 ? t('no limit') : formatNumber(limit));
const PRESENT: readonly Column<Present>[] = [
  { header: t('Limit'), cell: ({ name }) => name },
  {
    header: t('Of the key'),
    cell: ({ own }) => (own === null ? <span className="quiet">{t("the plan's")}</span> : numberOf(own)),
    isNumber: true,
  },
  {
    header: t('Of the plan'),
    cell: ({ ofPlan }) =>
      ofPlan === undefined ? <span className="quiet">{t('default')}</span> : numberOf(ofPlan),
    isNumber: true,
  },
];

const limitOf = (values: FormData, name: string) => {
  const text = textOf(values, name);
  return text === '' ? null : Number(text);
};

/** For operators: sets the rate limits of an API key of any account. The URL has the account, and may have the key. */
export default function KeyLimitsPage() {
  const accountId = useFilter('account');
  return (
    <>
      <PageHeader title={t('Limits of a key')}>
        {accountId !== null && <ButtonLink href="/key-limits">{t('Choose another account')}</ButtonLink>}
      </PageHeader>
      <p>{t("An API key goes by the limits of its account's plan, unless it has its own.")}</p>
      {accountId === null ? <ChooseAccount /> : <ChooseKey key={accountId} accountId={accountId} />}
    </>
  );
}

function ChooseAccount() {
  const search = useFilter('search');
  const accounts = useApiQuery(
    Accounts,
    { first: PAGE_SIZE, after: useAfter(), search, orderBy: 'NEWEST' },
    { keepsLast: true },
  );
  // An id that was typed leads to its key, so that nobody looks for it a second time.
  const chosen = search !== null && KEY_ID.test(search) ? `&key=${search}` : '';
  return (
    <>
      <p className="quiet">
        {t('Choose the account of the key. It sees in its audit log that you have looked at its keys.')}
      </p>
      <Filters label={t('Search accounts')}>
        <Field
          name="search"
          label={t('Search')}
          type="search"
          placeholder={t('Name, email or key id')}
          autoComplete="off"
        />
      </Filters>
      <Loaded query={accounts}>
        {(data) => (
          <PagedTable
            of={data.accounts}
            caption={t('Accounts, the newest first')}
            columns={COLUMNS}
            keyOf={({ id }) => id}
            hrefOf={({ id }) => `/key-limits?account=${id}${chosen}`}
            empty={<EmptyState title={t('No accounts yet')} />}
          />
        )}
      </Loaded>
    </>
  );
}

function ChooseKey({ accountId }: { accountId: string }) {
  const query = useApiQuery(KeysOfAccount, { id: accountId });
  return <Loaded query={query}>{({ account }) => <KeysOf account={account} />}</Loaded>;
}

function KeysOf({ account }: { account: Owner }) {
  const [keyId, setKeyId] = useState(useFilter('key') ?? '');
  const now = new Date();
  const keys = (account.apiKeys ?? []).filter((each) => statusOf(each, now) === 'ACTIVE');
  const key = keys.find((each) => each.keyId === keyId);
  if (keys.length === 0)
    return (
      <EmptyState title={t('{name} has no key that works', { name: account.name })}>
        <ButtonLink href={`/api-keys/new?account=${account.id}`}>{t('Create an API key')}</ButtonLink>
      </EmptyState>
    );
  return (
    <div className="stack">
      <KeyValues
        items={[
          [
            t('Account'),
            <Link key="account" href={`/accounts/${account.id}`}>
              {account.name}
            </Link>,
          ],
          [t('Plan'), account.plan?.name ?? t('No plan (default limits)')],
        ]}
      />
      <div className="form">
        <Select
          name="keyId"
          label={t('Key')}
          hint={t('Keys that have ended are left out, because they have no limits.')}
          value={key?.keyId ?? ''}
          onChange={({ currentTarget }) => setKeyId(currentTarget.value)}
          options={[
            { value: '', label: t('Choose a key') },
            ...keys.map((each) => ({ value: each.keyId, label: `${each.name} (${each.keyId})` })),
          ]}
        />
      </div>
      {key === undefined && keyId !== '' && (
        <Notice tone="warn">{t('The key {keyId} has ended, or is not of this account.', { keyId })}</Notice>
      )}
      {key && <SetLimits key={key.keyId} of={key} plan={account.plan} />}
    </div>
  );
}

function SetLimits({ of: { keyId, environment, rateLimit }, plan }: { of: Key; plan: Owner['plan'] }) {
  const toast = useToast();
  const set = useApiMutation(SetRateLimit, {
    refetches: [KeysOfAccount],
    onDone: ({ setRateLimit: { name } }) => toast({ text: t('The limits of “{name}” are set.', { name }) }),
  });
  return (
    <>
      <KeyValues
        items={[
          [t('Key id'), <Id key="id" of={keyId} label={t('Key id')} />],
          [t('Environment'), <Badge key="environment" status={environment} />],
        ]}
      />
      <DataTable
        caption={t('Its limits now')}
        columns={PRESENT}
        rows={[
          { name: t('Requests per minute'), own: rateLimit.perMinute, ofPlan: plan?.perMinute },
          { name: t('Requests per second'), own: rateLimit.perSecond, ofPlan: plan?.perSecond },
        ]}
        keyOf={({ name }) => name}
      />
      <Form
        label={t('Limits of the key')}
        error={set.error}
        onSubmit={(values) =>
          set.mutate({
            keyId,
            perMinute: limitOf(values, 'perMinute'),
            perSecond: limitOf(values, 'perSecond'),
          })
        }
      >
        <Field
          name="perMinute"
          label={t('Requests per minute')}
          type="number"
          min={1}
          hint={t('Empty: what the plan says.')}
          defaultValue={rateLimit.perMinute ?? ''}
        />
        <Field
          name="perSecond"
          label={t('Requests per second')}
          type="number"
          min={0}
          hint={t('Empty: what the plan says. 0: no such limit.')}
          defaultValue={rateLimit.perSecond ?? ''}
        />
        <div className="row">
          <Button type="submit" look="primary" isBusy={set.isPending}>
            {t('Set the limits')}
          </Button>
        </div>
      </Form>
    </>
  );
}
