import { Check } from 'lucide-react';
import { DropdownMenu } from 'radix-ui';
import { useStored } from '../../lib/stored.ts';
import { t } from '../../lib/words.ts';
import { Badge } from '../../ui/badge.tsx';
import type { Column } from '../../ui/data-table.tsx';
import { MenuButton } from '../../ui/menu-button.tsx';
import { T } from '../../ui/t.tsx';
import { Money, Time } from '../../ui/values.tsx';
import { CHANNEL_NAMES, whom } from './message-text.ts';
import type { MessageRowFragment, RecipientRowFragment } from './messages.generated.ts';
import { StatusBadge } from './status-badge.tsx';

/** The columns that a person chooses from, by their name in storage. The recipient and the status are always shown. */
export const CHOICES = {
  message: t('Message'),
  channel: t('Channel'),
  sender: t('Sender'),
  key: t('API key'),
  cost: t('Cost'),
  accepted: t('Accepted'),
} as const;
export type Choice = keyof typeof CHOICES;
const NAMES = Object.keys(CHOICES) as Choice[];
const DEFAULT: readonly Choice[] = ['message', 'channel', 'cost', 'accepted'];

/** Returns the columns that this browser shows, and a function that changes them. */
export function useColumnChoice() {
  return useStored<readonly Choice[]>('console-message-columns', (stored) =>
    Array.isArray(stored) ? NAMES.filter((name) => stored.includes(name)) : DEFAULT,
  );
}

/** The menu that chooses the columns. It stays open for several choices. */
export function ColumnMenu() {
  const [chosen, choose] = useColumnChoice();
  return (
    <MenuButton label={t('Columns')}>
      {NAMES.map((name) => (
        <DropdownMenu.CheckboxItem
          key={name}
          className="menu-item"
          checked={chosen.includes(name)}
          onSelect={(event) => event.preventDefault()}
          onCheckedChange={(isShown) =>
            choose(isShown ? [...chosen, name] : chosen.filter((each) => each !== name))
          }
        >
          <DropdownMenu.ItemIndicator>
            <Check className="icon" aria-hidden="true" />
          </DropdownMenu.ItemIndicator>
          {CHOICES[name]}
        </DropdownMenu.CheckboxItem>
      ))}
    </MenuButton>
  );
}

interface Always<Row> {
  readonly to: Column<Row>;
  readonly status: Column<Row>;
  readonly chosen: Readonly<Record<Choice, Column<Row>>>;
}

/** Puts the columns in order: the recipient, the text, then the status and what else is chosen. */
export function columnsOf<Row>({ to, status, chosen }: Always<Row>, names: readonly Choice[]): Column<Row>[] {
  const shown = NAMES.filter((name) => names.includes(name)).map((name) => [name, chosen[name]] as const);
  const [first, rest] = [
    shown.filter(([name]) => name === 'message'),
    shown.filter(([name]) => name !== 'message'),
  ];
  return [to, ...first.map(([, column]) => column), status, ...rest.map(([, column]) => column)];
}

type Shared = Pick<
  MessageRowFragment,
  'channel' | 'content' | 'from' | 'apiKey' | 'createdAt' | 'environment' | 'scheduledFor'
>;

/** The columns about a message that lists of messages and of recipients have in common. */
function sharedColumns<Row>(messageOf: (row: Row) => Shared): Omit<Always<Row>['chosen'], 'cost'> {
  return {
    message: {
      header: CHOICES.message,
      cell: (row) => <span className="message-preview">{messageOf(row).content || '–'}</span>,
    },
    channel: { header: CHOICES.channel, cell: (row) => CHANNEL_NAMES[messageOf(row).channel], isWhole: true },
    sender: { header: CHOICES.sender, cell: (row) => messageOf(row).from, isWhole: true },
    key: {
      header: CHOICES.key,
      cell: (row) => messageOf(row).apiKey?.name ?? <span className="quiet">{t('a person')}</span>,
      isWhole: true,
    },
    accepted: {
      header: CHOICES.accepted,
      cell: (row) => <Time at={messageOf(row).createdAt} />,
      isWhole: true,
    },
  };
}

export const MESSAGE_COLUMNS: Always<MessageRowFragment> = {
  to: { header: t('To'), cell: ({ to }) => <span className="message-to">{whom(to)}</span> },
  status: {
    header: t('Status'),
    cell: (message) => (
      <span className="message-status">
        <StatusBadge of={message} /> {message.environment === 'SANDBOX' && <Badge status="SANDBOX" />}
        {message.status === 'PENDING' && <Due at={message.scheduledFor} heldUntil={message.heldUntil} />}
      </span>
    ),
  },
  chosen: {
    ...sharedColumns((message) => message),
    cost: {
      header: CHOICES.cost,
      cell: ({ cost, currency }) => <Money amount={cost} currency={currency} />,
      isNumber: true,
    },
  },
};

export const RECIPIENT_COLUMNS: Always<RecipientRowFragment> = {
  to: { header: t('To'), cell: ({ to }) => <span className="message-to">{to}</span> },
  status: {
    header: t('Status'),
    cell: ({ status, error, heldUntil, message }) => (
      <span className="message-status">
        <Badge status={status} /> {message.environment === 'SANDBOX' && <Badge status="SANDBOX" />}
        {status === 'PENDING' && <Due at={message.scheduledFor} heldUntil={heldUntil} />}
        {error && <span className="quiet message-error">{error.message}</span>}
      </span>
    ),
  },
  chosen: {
    ...sharedColumns(({ message }) => message),
    cost: {
      header: CHOICES.cost,
      cell: ({ cost, refunded, message }) => <Money amount={cost - refunded} currency={message.currency} />,
      isNumber: true,
    },
  },
};

/** Says when a message that waits may leave: at its scheduled time, or after quiet hours. */
function Due({ at, heldUntil }: { at: string | null; heldUntil: string | null }) {
  const time = heldUntil ?? at;
  return (
    time && (
      <span className="quiet">
        {heldUntil ? (
          <T text="held until {time}" time={<Time at={time} />} />
        ) : (
          <T text="due {time}" time={<Time at={time} />} />
        )}
      </span>
    )
  );
}
