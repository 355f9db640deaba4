import { formatAbsolute } from '../../lib/format.ts';
import { useLiveRefetch } from '../../lib/live-refetch.ts';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { usePermission, useViewer } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Select } from '../../ui/field.tsx';
import { Filters, useFilter } from '../../ui/filters.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { OpenAlerts } from '../../ui/open-alerts.generated.ts';
import { PAGE_SIZE, PagedTable } from '../../ui/paged-table.tsx';
import { useAfter } from '../../ui/pager.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { useToast } from '../../ui/toast.tsx';
import { Time } from '../../ui/values.tsx';
import { optionsOf } from '../messages/message-text.ts';
import { conditionOf, KIND_NAMES, nobodyOf, STATE_NAMES, standardRecipientsOf } from './alert-text.ts';
import {
  type AlertKind,
  type AlertRowFragment,
  type AlertRuleRowFragment,
  AlertRules,
  type AlertState,
  Alerts,
  AlertUpdates,
  ConfirmSignIn,
} from './alerts.generated.ts';
import { ChangeRuleButton } from './rule-dialog.tsx';

const ISO_TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g;

const COLUMNS: readonly Column<AlertRowFragment>[] = [
  {
    header: t('State'),
    cell: ({ state }) => <Badge status={state}>{STATE_NAMES[state]}</Badge>,
    isWhole: true,
  },
  { header: t('Alert'), cell: ({ kind }) => KIND_NAMES[kind] },
  { header: t('What was found'), cell: ({ summary }) => withLocalTimes(summary) },
  { header: t('Opened'), cell: ({ openedAt }) => <Time at={openedAt} />, isWhole: true },
  {
    header: t('Resolved'),
    cell: ({ resolvedAt }) => <Time at={resolvedAt} otherwise="–" />,
    isWhole: true,
  },
];

/** Puts times in the person's zone into a text of the gateway, which has them in UTC. */
function withLocalTimes(text: string): string {
  return text.replaceAll(ISO_TIME, (time) => formatAbsolute(new Date(time)));
}

/** The column with the answer of the person whose sign-in an alert is about. */
const ANSWER: Column<AlertRowFragment> = {
  header: t('Actions'),
  cell: (alert) => <ItWasMe of={alert} />,
  isWhole: true,
};

const RULE_COLUMNS: readonly Column<AlertRuleRowFragment>[] = [
  { header: t('Alert'), cell: ({ kind }) => KIND_NAMES[kind] },
  {
    header: t('Opens when'),
    cell: (rule) => (rule.isEnabled ? conditionOf(rule) : <span className="quiet">{t('Switched off')}</span>),
  },
  { header: t('Mails to'), cell: (rule) => <MailsTo of={rule} /> },
];
const ACTIONS: Column<AlertRuleRowFragment> = {
  header: t('Actions'),
  cell: (rule) => <ChangeRuleButton of={rule} />,
};

function MailsTo({ of: { kind, mailTo } }: { of: AlertRuleRowFragment }) {
  const isOperator = useViewer().account === null;
  if (mailTo === null) return standardRecipientsOf(kind, isOperator);
  return mailTo.length === 0 ? nobodyOf(kind) : mailTo.join(', ');
}

/** True if the alert is about a sign-in of this person that they have not confirmed. */
function asks(alert: AlertRowFragment, personId: string): boolean {
  return alert.kind === 'SIGN_IN_NEW_COUNTRY' && alert.state === 'OPEN' && alert.detail.userId === personId;
}

function ItWasMe({ of: alert }: { of: AlertRowFragment }) {
  const { id: personId } = useViewer();
  const toast = useToast();
  const confirm = useApiMutation(ConfirmSignIn, {
    refetches: [Alerts, OpenAlerts],
    onDone: () => toast({ text: t('Thank you. The alert is resolved.') }),
  });
  if (!asks(alert, personId)) return null;
  return (
    <div className="row">
      <Button isBusy={confirm.isPending} onClick={() => confirm.mutate({ alertId: alert.id })}>
        {t('It was me')}
      </Button>
      <ButtonLink href="/security">{t('It was not me')}</ButtonLink>
    </div>
  );
}

/** Open and past alerts, and the rules by which they open (R486). */
export default function AlertsPage() {
  const filter = { state: stateOf(useFilter('state')), kind: kindOf(useFilter('kind')) };
  const alerts = useApiQuery(Alerts, { first: PAGE_SIZE, after: useAfter(), filter }, { keepsLast: true });
  const rules = useApiQuery(AlertRules, {});
  const mayChange = usePermission('alert.setRule');
  const { id: personId } = useViewer();
  useLiveRefetch(AlertUpdates, {}, [Alerts, OpenAlerts]);
  return (
    <>
      <PageHeader title={t('Alerts')} />
      <Filters label={t('Search alerts')}>
        <Select
          name="state"
          label={t('State')}
          options={[{ value: '', label: t('All') }, ...optionsOf(STATE_NAMES)]}
        />
        <Select
          name="kind"
          label={t('Alert')}
          options={[{ value: '', label: t('All') }, ...optionsOf(KIND_NAMES)]}
        />
      </Filters>
      <Loaded query={alerts}>
        {(data) => (
          <PagedTable
            of={data.alerts}
            caption={t('The newest first')}
            columns={
              data.alerts.nodes.some((alert) => asks(alert, personId)) ? [...COLUMNS, ANSWER] : COLUMNS
            }
            keyOf={({ id }) => id}
            empty={
              <EmptyState title={t('No alerts')}>
                <p>{t('Nothing needs you. The gateway looks once a minute.')}</p>
              </EmptyState>
            }
          />
        )}
      </Loaded>
      <section className="stack" aria-labelledby="rules">
        <h2 id="rules">{t('Rules')}</h2>
        <Loaded query={rules}>
          {(data) => (
            <DataTable
              caption={t('When alerts open, and who gets mails')}
              columns={mayChange ? [...RULE_COLUMNS, ACTIONS] : RULE_COLUMNS}
              rows={data.alertRules ?? []}
              keyOf={({ kind }) => kind}
            />
          )}
        </Loaded>
      </section>
    </>
  );
}

function stateOf(text: string | null): AlertState | null {
  return text !== null && text in STATE_NAMES ? (text as AlertState) : null;
}

function kindOf(text: string | null): AlertKind | null {
  return text !== null && text in KIND_NAMES ? (text as AlertKind) : null;
}
