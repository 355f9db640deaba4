import { refetch, useApiQuery } from '../../lib/queries.ts';
import { Can, usePermission } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { DataTable } from '../../ui/data-table.tsx';
import { useDrawerHref } from '../../ui/drawer.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { Pager, useAfter } from '../../ui/pager.tsx';
import { EmptyState, Loaded, Loading } from '../../ui/states.tsx';
import { ColumnMenu, columnsOf, MESSAGE_COLUMNS, useColumnChoice } from './columns.tsx';
import { MessageExport } from './export.tsx';
import { HeldMessages } from './held.tsx';
import { ListFilters } from './list-filters.tsx';
import { recipientFilterOf, useListState } from './list-state.ts';
import { MOST_COUNTED, useLiveRows } from './live-list.ts';
import { MessageDrawer, OPENED } from './message-drawer.tsx';
import { type MessageFilter, Messages, MessagesCount, type MessagesQuery } from './messages.generated.ts';
import { RecipientRows } from './recipient-rows.tsx';
import { SavedViews } from './saved-views.tsx';
import './messages.css';

/**
 * The list of the account's messages, newest first, with filters, search and live updates. If the search is a whole
 * number or email address, the rows are its recipients instead.
 */
export default function MessagesPage() {
  const { state, filter, first, isFiltered, change } = useListState();
  const recipients = recipientFilterOf(filter);
  const rows = <MessageRows filter={filter} first={first} isFiltered={isFiltered} />;
  return (
    <>
      <PageHeader title={t('Messages')}>
        <SavedViews />
        <ColumnMenu />
        <Can
          run="message.sendSms"
          otherwise={<span className="quiet">{t('Your role can read messages, not send them.')}</span>}
        >
          <ButtonLink href="/messages/send" look="primary">
            {t('Send a message')}
          </ButtonLink>
        </Can>
      </PageHeader>
      <HeldMessages />
      <ListFilters state={state} isFiltered={isFiltered} onChange={change} />
      {recipients ? (
        <RecipientRows filter={recipients} first={first} empty={<NoRows isFiltered />} otherwise={rows} />
      ) : (
        rows
      )}
    </>
  );
}

function MessageRows({
  filter,
  first,
  isFiltered,
}: {
  filter: MessageFilter;
  first: number;
  isFiltered: boolean;
}) {
  const after = useAfter();
  const messages = useApiQuery(Messages, { first, after, filter }, { keepsLast: true });
  return (
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
  const drawerOf = useDrawerHref(OPENED);
  const [chosen] = useColumnChoice();
  const count = useApiQuery(MessagesCount, { filter }, { isApart: true }).data?.messages.totalCount;
  // Rows of the old filter stay until the new rows arrive. Meanwhile the count is hidden, because it would not match
  // them.
  if (rows.length === 0 && !isLoaded) return <Loading />;
  return (
    <>
      <div aria-live="polite">
        {newCount > 0 && rows.length > 0 && (
          <Button className="message-news" onClick={() => void refetch(Messages, MessagesCount)}>
            {newCount > MOST_COUNTED
              ? t('More than {count} new messages: show', { count: MOST_COUNTED })
              : t('{count, plural, one {# new message: show} other {# new messages: show}}', {
                  count: newCount,
                })}
          </Button>
        )}
      </div>
      {rows.length === 0 ? (
        <NoRows isFiltered={isFiltered} />
      ) : (
        <div className="message-rows">
          <DataTable
            caption={
              count === undefined || !isLoaded
                ? t('the newest first')
                : t('{count} in all, the newest first', { count })
            }
            columns={columnsOf(MESSAGE_COLUMNS, chosen)}
            rows={rows}
            keyOf={({ id }) => id}
            hrefOf={drawerOf}
          />
        </div>
      )}
      <Pager pageInfo={page.pageInfo} />
      {rows.length > 0 && (
        <div className="row">
          <MessageExport filter={filter} total={count} />
        </div>
      )}
      <MessageDrawer />
    </>
  );
}

function NoRows({ isFiltered }: { isFiltered: boolean }) {
  const maySend = usePermission('message.sendSms');
  if (isFiltered) {
    return (
      <EmptyState title={t('No message matches')}>
        <p>{t('Nothing fits all the filters together.')}</p>
        <ButtonLink href="/messages">{t('Clear filters')}</ButtonLink>
      </EmptyState>
    );
  }
  return (
    <EmptyState title={t('No messages yet')}>
      <p>
        {t(
          'What people and programs of this account send is listed here, with what became of it. The sandbox sends nothing and costs nothing.',
        )}
      </p>
      {maySend && (
        <ButtonLink href="/messages/send" look="primary">
          {t('Send the first')}
        </ButtonLink>
      )}
    </EmptyState>
  );
}
