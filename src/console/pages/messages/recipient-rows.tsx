import type { ReactNode } from 'react';
import { counted } from '../../lib/counts.ts';
import { useLiveRefetch } from '../../lib/live-refetch.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { DataTable } from '../../ui/data-table.tsx';
import { useDrawerHref } from '../../ui/drawer.tsx';
import { Pager, useAfter } from '../../ui/pager.tsx';
import { Loaded } from '../../ui/states.tsx';
import { columnsOf, RECIPIENT_COLUMNS, useColumnChoice } from './columns.tsx';
import { RecipientExport } from './export.tsx';
import { MessageDrawer, OPENED } from './message-drawer.tsx';
import { MessageRecipients, MessagesLive, type RecipientFilter } from './messages.generated.ts';

/**
 * What one number or email address got, the newest first. It shows `empty` if nothing matches the other filters, and
 * `otherwise` if nobody ever wrote to this address: then the text may be a part of a message.
 */
export function RecipientRows({
  filter,
  first,
  empty,
  otherwise,
}: {
  filter: RecipientFilter;
  first: number;
  empty: ReactNode;
  otherwise: ReactNode;
}) {
  const after = useAfter();
  const query = useApiQuery(MessageRecipients, { first, after, filter }, { keepsLast: true });
  const [chosen] = useColumnChoice();
  const drawerOf = useDrawerHref(OPENED);
  const { channel, environment, apiKeyId } = filter;
  useLiveRefetch(MessagesLive, { filter: { channel, environment, apiKeyId } }, [MessageRecipients]);
  return (
    <Loaded query={query}>
      {({ recipients: { nodes, pageInfo, totalCount } }) =>
        nodes.length === 0 && after === null ? (
          <NoRecipients address={filter.address} empty={empty} otherwise={otherwise} />
        ) : (
          <>
            <div className="message-rows">
              <DataTable
                caption={t('{messages} to this recipient, the newest first', {
                  messages: counted(totalCount, 'message'),
                })}
                columns={columnsOf(RECIPIENT_COLUMNS, chosen)}
                rows={nodes}
                keyOf={({ to, message }) => `${message.id} ${to}`}
                hrefOf={({ message }) => drawerOf(message)}
              />
            </div>
            <Pager pageInfo={pageInfo} />
            <div className="row">
              <RecipientExport filter={filter} />
            </div>
            <MessageDrawer />
          </>
        )
      }
    </Loaded>
  );
}

function NoRecipients({
  address,
  empty,
  otherwise,
}: {
  address: RecipientFilter['address'];
  empty: ReactNode;
  otherwise: ReactNode;
}) {
  const query = useApiQuery(MessageRecipients, { first: 1, filter: { address } });
  return (
    <Loaded query={query}>{({ recipients }) => (recipients.nodes.length > 0 ? empty : otherwise)}</Loaded>
  );
}
