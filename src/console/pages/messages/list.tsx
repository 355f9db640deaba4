import { formatNumber } from '../../lib/format.ts';
import { refetch, useApiQuery } from '../../lib/queries.ts';
import { Can, usePermission } from '../../lib/session.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { Pager, useAfter } from '../../ui/pager.tsx';
import { EmptyState, Loaded, Loading } from '../../ui/states.tsx';
import { Money, Time } from '../../ui/values.tsx';
import { ListFilters } from './list-filters.tsx';
import { useListState } from './list-state.ts';
import { MOST_COUNTED, useLiveRows } from './live-list.ts';
import { MessageDrawer, useDrawerHref } from './message-drawer.tsx';
import { CHANNEL_NAMES, whom } from './message-text.ts';
import {
  type MessageFilter,
  type MessageRowFragment,
  Messages,
  MessagesCount,
  type MessagesQuery,
} from './messages.generated.ts';
import { StatusBadge } from './status-badge.tsx';
import './messages.css';

const COLUMNS: readonly Column<MessageRowFragment>[] = [
  { header: 'To', cell: ({ to }) => <span className="message-to">{whom(to)}</span> },
  { header: 'Message', cell: ({ content }) => <span className="message-preview">{content || '–'}</span> },
  { header: 'Channel', cell: ({ channel }) => CHANNEL_NAMES[channel], isWhole: true },
  { header: 'Status', cell: (message) => <StatusOf message={message} /> },
  {
    header: 'Cost',
    cell: ({ cost, currency }) => <Money amount={cost} currency={currency} />,
    isNumber: true,
  },
  { header: 'Accepted', cell: ({ createdAt }) => <Time at={createdAt} />, isWhole: true },
];

function StatusOf({ message }: { message: MessageRowFragment }) {
  return (
    <span className="message-status">
      <StatusBadge of={message} /> {message.environment === 'SANDBOX' && <Badge status="SANDBOX" />}
      {message.status === 'PENDING' && message.scheduledFor && (
        <span className="quiet">
          due <Time at={message.scheduledFor} />
        </span>
      )}
    </span>
  );
}

/** The list of the account's messages, newest first, with filters, search and live updates. */
export default function MessagesPage() {
  const { state, filter, first, isFiltered, change } = useListState();
  const after = useAfter();
  const messages = useApiQuery(Messages, { first, after, filter }, { keepsLast: true });
  return (
    <>
      <PageHeader title="Messages">
        <Can
          run="message.sendSms"
          otherwise={<span className="quiet">Your role can read messages, not send them.</span>}
        >
          <ButtonLink href="/messages/send" look="primary">
            Send a message
          </ButtonLink>
        </Can>
      </PageHeader>
      <ListFilters state={state} isFiltered={isFiltered} onChange={change} />
      <Loaded query={messages}>
        {({ messages: page }) => (
          <Rows
            page={page}
            filter={filter}
            isFiltered={isFiltered}
            isFirst={after === null}
            isLoaded={!messages.isPlaceholderData}
          />
        )}
      </Loaded>
    </>
  );
}

function Rows({
  page,
  filter,
  isFiltered,
  isFirst,
  isLoaded,
}: {
  page: NonNullable<MessagesQuery['messages']>;
  filter: MessageFilter;
  isFiltered: boolean;
  isFirst: boolean;
  isLoaded: boolean;
}) {
  const { rows, newCount } = useLiveRows(page.nodes, filter, { isFirst, isLoaded });
  const drawerOf = useDrawerHref();
  const count = useApiQuery(MessagesCount, { filter }).data?.messages.totalCount;
  // Rows of the old filter stay until the new rows arrive. Meanwhile the count is hidden, because it would not match
  // them.
  const total = count === undefined || !isLoaded ? '' : `${formatNumber(count)} in all, `;
  if (rows.length === 0 && !isLoaded) return <Loading />;
  return (
    <>
      <div aria-live="polite">
        {newCount > 0 && rows.length > 0 && (
          <Button className="message-news" onClick={() => void refetch(Messages, MessagesCount)}>
            {newCount > MOST_COUNTED ? `More than ${MOST_COUNTED}` : newCount} new{' '}
            {newCount === 1 ? 'message' : 'messages'}: show
          </Button>
        )}
      </div>
      {rows.length === 0 ? (
        <NoRows isFiltered={isFiltered} />
      ) : (
        <DataTable
          caption={`${total}the newest first`}
          columns={COLUMNS}
          rows={rows}
          keyOf={({ id }) => id}
          hrefOf={drawerOf}
        />
      )}
      <Pager pageInfo={page.pageInfo} />
      <MessageDrawer />
    </>
  );
}

function NoRows({ isFiltered }: { isFiltered: boolean }) {
  const maySend = usePermission('message.sendSms');
  if (isFiltered) {
    return (
      <EmptyState title="No message matches">
        <p>Nothing fits all the filters together.</p>
        <ButtonLink href="/messages">Clear filters</ButtonLink>
      </EmptyState>
    );
  }
  return (
    <EmptyState title="No messages yet">
      <p>
        What people and programs of this account send is listed here, with what became of it. The sandbox
        sends nothing and costs nothing.
      </p>
      {maySend && (
        <ButtonLink href="/messages/send" look="primary">
          Send the first
        </ButtonLink>
      )}
    </EmptyState>
  );
}
