import type { ReactNode } from 'react';
import { brand } from '../../lib/brand.ts';
import { counted } from '../../lib/counts.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { useFilter } from '../../ui/filters.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { Notice } from '../../ui/notice.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { T } from '../../ui/t.tsx';
import { KeyValues, Money } from '../../ui/values.tsx';
import { CHANNEL_NAMES } from '../messages/message-text.ts';
import { chosenMonth, dayOf, monthAfter, monthName, monthOf } from './months.ts';
import { Statement, type StatementAmountFragment, type StatementQuery } from './statement.generated.ts';
import './statement.css';

type Shown = NonNullable<StatementQuery['statement']>;

/** What moved the balance in a month, on one page for the printer. */
export default function StatementPage() {
  const now = new Date();
  const month = chosenMonth(useFilter('month'), now);
  const query = useApiQuery(Statement, { month });
  const createdAt = query.data?.statement?.account.createdAt;
  const hasBefore = createdAt === undefined || month > monthOf(new Date(createdAt));
  return (
    <>
      <PageHeader title={t('Statement, {month}', { month: monthName(month) })}>
        <div className="row not-printed">
          {hasBefore && (
            <ButtonLink href={`/statement?month=${monthAfter(month, -1)}`}>
              {monthName(monthAfter(month, -1))}
            </ButtonLink>
          )}
          {month < monthOf(now) && (
            <ButtonLink href={`/statement?month=${monthAfter(month, 1)}`}>
              {monthName(monthAfter(month, 1))}
            </ButtonLink>
          )}
          <Button onClick={() => print()}>{t('Print')}</Button>
        </div>
      </PageHeader>
      <Loaded query={query}>
        {({ statement }) =>
          statement ? (
            <Sheet of={statement} />
          ) : (
            <EmptyState title={t('There is no statement of this month')} />
          )
        }
      </Loaded>
    </>
  );
}

function Sheet({ of }: { of: Shown }) {
  const last = new Date(Date.parse(of.to) - 1);
  return (
    <article className="card stack statement">
      <KeyValues
        items={[
          [t('From'), brand.name],
          [t('Account'), of.account.name],
          ...(of.account.name === of.account.email ? [] : [[t('Email'), of.account.email] as const]),
          [t('Period'), t('{first} to {last} (UTC)', { first: dayOf(new Date(of.from)), last: dayOf(last) })],
          ...(of.isFinal
            ? []
            : [[t('State'), t('The month is not over: the figures are those of now')] as const]),
        ]}
      />
      {Number(of.difference.amount) !== 0 && (
        <Notice tone="bad">
          <T
            text="The sums differ from the closing balance by {amount}. Report this to the operator."
            amount={<Amount of={of.difference} />}
          />
        </Notice>
      )}
      <table className="statement-lines">
        <caption>{t('Opening balance and sums give the closing balance')}</caption>
        <thead>
          <tr>
            <th scope="col">{t('What')}</th>
            <th scope="col">{t('Number')}</th>
            <th scope="col">{t('Amount')}</th>
          </tr>
        </thead>
        <tbody>
          <Line name={t('Opening balance')} amount={of.opening} isBalance />
          <Line name={t('Top-ups')} note={counted(of.topUpCount, 'topUp')} amount={of.topUps} />
          {of.charges.map(({ channel, messages, amount }) => (
            <Line
              key={channel}
              name={CHANNEL_NAMES[channel]}
              note={counted(messages, 'message')}
              amount={amount}
              isCharge
            />
          ))}
          <Line name={t('Refunds')} note={counted(of.refundCount, 'recipient')} amount={of.refunds} />
          <Line name={t('Closing balance')} amount={of.closing} isBalance />
        </tbody>
      </table>
    </article>
  );
}

function Line({
  name,
  note,
  amount,
  isCharge = false,
  isBalance = false,
}: {
  name: string;
  note?: ReactNode;
  amount: StatementAmountFragment;
  isCharge?: boolean;
  isBalance?: boolean;
}) {
  return (
    <tr className={isBalance ? 'statement-balance' : undefined}>
      <th scope="row">{name}</th>
      <td>{note ?? ''}</td>
      <td>
        <Amount of={amount} isCharge={isCharge} />
      </td>
    </tr>
  );
}

function Amount({
  of: { amount, currency },
  isCharge = false,
}: {
  of: StatementAmountFragment;
  isCharge?: boolean;
}) {
  const value = Number(amount);
  return <Money amount={isCharge && value !== 0 ? -value : value} currency={currency} />;
}
