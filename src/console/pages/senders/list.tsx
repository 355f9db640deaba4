import { useEnvironment } from '../../lib/environment.ts';
import { formatName } from '../../lib/format.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { Can, useIsOperator } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { Badge } from '../../ui/badge.tsx';
import { ButtonLink } from '../../ui/button.tsx';
import type { Column } from '../../ui/data-table.tsx';
import { Select } from '../../ui/field.tsx';
import { Filters, useFilter } from '../../ui/filters.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { PAGE_SIZE, PagedTable } from '../../ui/paged-table.tsx';
import { useAfter } from '../../ui/pager.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Time } from '../../ui/values.tsx';
import { CHANNEL_NAMES, nameOf, nextStepOf } from './sender-text.ts';
import {
  type SenderChannel,
  type SenderRowFragment,
  type SenderStatus,
  Senders,
} from './senders.generated.ts';
import { WaitingSenders } from './waiting.tsx';
import './senders.css';

const CHANNELS: readonly SenderChannel[] = ['SMS', 'EMAIL', 'WHATSAPP'];
const STATUSES: readonly SenderStatus[] = ['PENDING', 'APPROVED', 'REJECTED'];

const NAME: Column<SenderRowFragment> = { header: t('Sender'), cell: nameOf };
const STATE: readonly Column<SenderRowFragment>[] = [
  { header: t('Kind'), cell: ({ channel }) => CHANNEL_NAMES[channel], isWhole: true },
  { header: t('Status'), cell: ({ status }) => <Badge status={status} /> },
];
const REQUESTED: Column<SenderRowFragment> = {
  header: t('Requested'),
  cell: ({ createdAt }) => <Time at={createdAt} />,
  isWhole: true,
};
const NEXT: Column<SenderRowFragment> = {
  header: t('What to do next'),
  cell: (sender) => <div className="sender-next">{nextStepOf(sender)}</div>,
};
const ACCOUNT: Column<SenderRowFragment> = { header: t('Account'), cell: ({ account }) => account?.name };
const OWN_COLUMNS = [NAME, ...STATE, NEXT, REQUESTED];
const OPERATOR_COLUMNS = [
  NAME,
  ACCOUNT,
  ...STATE,
  {
    header: t('Company'),
    cell: ({ company }: SenderRowFragment) => company ?? <span className="quiet">{t('not said')}</span>,
  },
  REQUESTED,
];

/** The sender IDs, email domains and WhatsApp number of the account. Operators see those of all accounts, and what waits for them. */
export default function SendersPage() {
  const isOperator = useIsOperator();
  const [askedChannel, askedStatus] = [useFilter('channel'), useFilter('status')];
  const variables = {
    first: PAGE_SIZE,
    after: useAfter(),
    channel: CHANNELS.find((each) => each === askedChannel) ?? null,
    status: STATUSES.find((each) => each === askedStatus) ?? null,
    environment: useEnvironment(),
  };
  const query = useApiQuery(Senders, variables, { keepsLast: true });
  return (
    <>
      <PageHeader title={t('Senders')}>
        {!isOperator && (
          <Can
            run="sender.request"
            otherwise={<span className="quiet">{t('Your role can read senders, not request them.')}</span>}
          >
            <ButtonLink href="/senders/new" look="primary">
              {t('Request a sender')}
            </ButtonLink>
          </Can>
        )}
      </PageHeader>
      {isOperator && <WaitingSenders />}
      <section className="stack" aria-label={t('All senders')}>
        <Filters label={t('Filter the senders')}>
          <Select
            name="channel"
            label={t('Kind')}
            options={[
              { value: '', label: t('Any') },
              ...CHANNELS.map((each) => ({ value: each, label: CHANNEL_NAMES[each] })),
            ]}
          />
          <Select
            name="status"
            label={t('Status')}
            options={[
              { value: '', label: t('Any') },
              ...STATUSES.map((each) => ({ value: each, label: formatName(each) })),
            ]}
          />
        </Filters>
        <Loaded query={query}>
          {({ senders }) => (
            <PagedTable
              of={senders}
              caption={isOperator ? t('Of all accounts, the newest first') : t('The newest first')}
              columns={isOperator ? OPERATOR_COLUMNS : OWN_COLUMNS}
              keyOf={({ id }) => id}
              hrefOf={({ id }) => `/senders/${id}`}
              empty={<NoSenders isOperator={isOperator} />}
            />
          )}
        </Loaded>
      </section>
    </>
  );
}

function NoSenders({ isOperator }: { isOperator: boolean }) {
  if (isOperator) return <EmptyState title={t('No account has requested a sender')} />;
  return (
    <EmptyState title={t('No senders yet')}>
      <p>
        {t(
          'A sender is the name under which your messages arrive: a sender ID of SMS such as MANGOES, or the domain of your email addresses. Without one, messages leave under the name of the gateway.',
        )}
      </p>
      <Can run="sender.request">
        <ButtonLink href="/senders/new">{t('Request the first')}</ButtonLink>
      </Can>
    </EmptyState>
  );
}
