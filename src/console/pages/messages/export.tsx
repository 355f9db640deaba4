import type { Cell } from '../../lib/csv.ts';
import { request } from '../../lib/request.ts';
import { t } from '../../lib/words.ts';
import { CsvExport } from '../../ui/csv-export.tsx';
import {
  type MessageFilter,
  MessageRecipients,
  type MessageRowFragment,
  Messages,
  type RecipientFilter,
  type RecipientRowFragment,
  StartExport,
} from './messages.generated.ts';

/** Most rows of a file. A search costs more points of the session for each page, so its file has fewer. */
const MOST = 5_000;
const MOST_OF_SEARCH = 1_000;
const PAGE = 100;

const fileName = (what: string) => `${what}-${new Date().toISOString().slice(0, 10)}.csv`;

/** Asks for a step-up if the person has not confirmed lately, and records the export in the audit log (R253). */
const begin = (list: 'MESSAGES' | 'RECIPIENTS', filter: MessageFilter | RecipientFilter) =>
  request(StartExport, {
    list,
    filters: Object.entries(filter).flatMap(([name, value]) => (value == null ? [] : name)),
  });

const MESSAGE_HEADER = [
  'id',
  'acceptedAt',
  'channel',
  'environment',
  'to',
  'from',
  'status',
  'delivered',
  'failed',
  'cost',
  'currency',
  'key',
  'content',
];
function messageCells(message: MessageRowFragment): readonly Cell[] {
  const { id, createdAt, channel, environment, to, from, status, recipientCounts, cost, currency } = message;
  const { delivered, failed } = recipientCounts;
  return [
    id,
    createdAt,
    channel,
    environment,
    to.join(' '),
    from,
    status,
    delivered,
    failed,
    cost,
    currency,
    message.apiKey?.name ?? null,
    message.content,
  ];
}

/** Exports the messages that match the filters of the list. `total` is their number, for the progress. */
export function MessageExport({ filter, total }: { filter: MessageFilter; total: number | undefined }) {
  const isSearch = filter.search !== undefined || filter.sender !== undefined;
  return (
    <CsvExport
      fileName={fileName('messages')}
      header={MESSAGE_HEADER}
      cellsOf={messageCells}
      begin={() => begin('MESSAGES', filter)}
      most={isSearch ? MOST_OF_SEARCH : MOST}
      sliceAfter={async (after, signal) => {
        const { messages } = await request(Messages, { first: PAGE, after, filter }, { signal });
        return { ...messages, totalCount: total ?? 0 };
      }}
    >
      {t('Export as CSV')}
    </CsvExport>
  );
}

const RECIPIENT_HEADER = [
  'to',
  'status',
  'errorCode',
  'error',
  'sentAt',
  'deliveredAt',
  'failedAt',
  'cost',
  'refunded',
  'currency',
  'messageId',
  'acceptedAt',
  'channel',
  'environment',
  'from',
  'key',
  'content',
];
function recipientCells(recipient: RecipientRowFragment): readonly Cell[] {
  const { to, status, error, sentAt, deliveredAt, failedAt, cost, refunded, message } = recipient;
  const { id, createdAt, channel, environment, from, apiKey, content, currency } = message;
  return [
    to,
    status,
    error?.code ?? null,
    error?.message ?? null,
    sentAt,
    deliveredAt,
    failedAt,
    cost,
    refunded,
    currency,
    id,
    createdAt,
    channel,
    environment,
    from,
    apiKey?.name ?? null,
    content,
  ];
}

/** Exports the recipients that match the filters of the list. */
export function RecipientExport({ filter }: { filter: RecipientFilter }) {
  return (
    <CsvExport
      fileName={fileName('recipients')}
      header={RECIPIENT_HEADER}
      cellsOf={recipientCells}
      begin={() => begin('RECIPIENTS', filter)}
      most={MOST}
      sliceAfter={async (after, signal) =>
        (await request(MessageRecipients, { first: PAGE, after, filter }, { signal })).recipients
      }
    >
      {t('Export as CSV')}
    </CsvExport>
  );
}
