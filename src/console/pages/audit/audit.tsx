import { useState } from 'react';
import { Link } from 'wouter';
import { People } from '../../lib/people.generated.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { Can, useIsOperator, usePermission } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { Actor } from '../../ui/actor.tsx';
import type { Column } from '../../ui/data-table.tsx';
import { Field } from '../../ui/field.tsx';
import { Filters, useFilter, useTimeFilter } from '../../ui/filters.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { PAGE_SIZE, PagedTable } from '../../ui/paged-table.tsx';
import { useAfter } from '../../ui/pager.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { T } from '../../ui/t.tsx';
import { Time } from '../../ui/values.tsx';
import { AuditAccounts, AuditLog, type AuditLogFilter, type AuditLogQuery } from './audit.generated.ts';
import { Changes } from './changes.tsx';
import { ExportAudit } from './export.tsx';
import { recordedName, sentenceOf } from './sentence.ts';

type Entry = NonNullable<AuditLogQuery['auditLog']>['nodes'][number];

const ACTIONS_ID = 'audit-actions';
const PEOPLE_ID = 'audit-people';
const ACCOUNTS_ID = 'audit-accounts';
/** Actions that the filter suggests. Other actions can be typed. */
const ACTIONS = [
  ...['apiKey.create', 'apiKey.update', 'apiKey.rotate', 'apiKey.revoke', 'apiKey.setRateLimit'],
  ...['webhook.register', 'webhook.update', 'webhook.rotateSecret', 'webhook.delete', 'webhook.disable'],
  ...['member.invite', 'member.setRole', 'member.remove', 'member.changePassword', 'member.resetPassword'],
  ...['member.signIn', 'member.signInFailed', 'member.lockedOut', 'apiKey.outsideAllowlist'],
  ...['account.create', 'account.topUp', 'account.setPlan', 'account.setRetention'],
];

/** Actions after which the target has no page any more. */
const GONE = ['webhook.delete', 'sender.remove', 'sender.removeNumber'];

/** The audit log of the account. Operators see the log of all accounts. */
export default function AuditLogPage() {
  const mayListPeople = usePermission('member.list');
  const people = useApiQuery(People, {}, { isEnabled: mayListPeople }).data?.members;
  const isOperator = useIsOperator();
  const account = useFilter('account');
  const filter: AuditLogFilter = {
    action: useFilter('action'),
    actor: useFilter('actor'),
    target: useFilter('target'),
    account: isOperator ? account : null,
    from: useTimeFilter('from'),
    to: useTimeFilter('to'),
  };
  const log = useApiQuery(AuditLog, { first: PAGE_SIZE, after: useAfter(), filter }, { keepsLast: true });
  const columns: readonly Column<Entry>[] = [
    { header: t('When'), cell: ({ at }) => <Time at={at} />, isWhole: true },
    { header: t('What'), cell: (entry) => <Sentence of={entry} /> },
    ...(isOperator
      ? [{ header: t('Account'), cell: ({ account: of }: Entry) => <AccountLink of={of} /> }]
      : []),
    { header: t('Entry'), cell: (entry) => <RawEntry of={entry} /> },
  ];
  return (
    <>
      <PageHeader title={t('Audit log')}>
        <Can run="audit.exportLines">
          <ExportAudit filter={filter} />
        </Can>
      </PageHeader>
      <Filters label={t('Filter the audit log')}>
        <Field name="action" label={t('Action')} list={ACTIONS_ID} placeholder="apiKey.create" />
        <Field name="actor" label={t('Who')} list={PEOPLE_ID} placeholder={t('Email, key:… or system:…')} />
        <Field name="target" label={t('Target')} placeholder={t('Email or id')} />
        {isOperator && <AccountField />}
        <Field name="from" label={t('From (time)')} type="datetime-local" />
        <Field name="to" label={t('To (time)')} type="datetime-local" />
      </Filters>
      <datalist id={ACTIONS_ID}>
        {ACTIONS.map((action) => (
          <option key={action} value={action} />
        ))}
      </datalist>
      <datalist id={PEOPLE_ID}>
        {people?.map(({ id, email }) => (
          <option key={id} value={email} />
        ))}
      </datalist>
      <Loaded query={log}>
        {({ auditLog }) => (
          <PagedTable
            of={auditLog}
            caption={t(
              'The newest first. Entries are chained by their hashes: none can be changed or taken out unseen',
            )}
            columns={columns}
            keyOf={({ id }) => id}
            empty={<EmptyState title={t('Nothing has been changed yet')} />}
          />
        )}
      </Loaded>
    </>
  );
}

/** The filter by account. It suggests accounts whose name or email address contains what is typed. */
function AccountField() {
  const [typed, setTyped] = useState('');
  const search = typed.trim();
  const { data } = useApiQuery(AuditAccounts, { search }, { isEnabled: search !== '', keepsLast: true });
  return (
    <>
      <Field
        name="account"
        label={t('Account')}
        list={ACCOUNTS_ID}
        placeholder={t('Name or email')}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
      />
      <datalist id={ACCOUNTS_ID}>
        {data?.accounts.nodes.map(({ id, name, email }) => (
          <option key={id} value={email}>
            {name}
          </option>
        ))}
      </datalist>
    </>
  );
}

function AccountLink({ of: account }: { of: Entry['account'] }) {
  if (account === null) return <span className="quiet">{t('the platform')}</span>;
  return <Link href={`/accounts/${account.id}`}>{account.name}</Link>;
}

/** Says in a sentence who did what to whom. */
function Sentence({ of: entry }: { of: Entry }) {
  const { verb, ending, isOwn } = sentenceOf(entry);
  return (
    <span>
      <Actor of={entry.actor} /> {verb} {!isOwn && <Target of={entry} />} {ending}
    </span>
  );
}

/** The entry as it is recorded: its action, and the values before and after. */
function RawEntry({ of: { action, target, before, after } }: { of: Entry }) {
  return (
    <details>
      <summary>
        <code>{action}</code>
      </summary>
      <p className="quiet">
        <T text="Target {id}" id={<code>{target.id}</code>} />
      </p>
      <Changes before={before} after={after} />
    </details>
  );
}

/** The name of the target, or its id if it has none or does not exist any more. */
function Target({ of: entry }: { of: Entry }) {
  const isOperator = useIsOperator();
  const { action, target } = entry;
  const pages: Record<string, string> = {
    sender: '/senders',
    ...(isOperator ? { account: '/accounts' } : { apiKey: '/api-keys', webhook: '/webhooks' }),
  };
  const page = pages[action.split('.')[0] ?? ''];
  const name = target.name ?? recordedName(entry);
  const text = name === undefined ? <code>{target.id}</code> : <strong>{name}</strong>;
  return page && !GONE.includes(action) ? <Link href={`${page}/${target.id}`}>{text}</Link> : text;
}
