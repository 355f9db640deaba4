import { useState } from 'react';
import type { ApiError } from '../../lib/api-error.ts';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { Notice } from '../../ui/notice.tsx';
import { TableFrame } from '../../ui/table-frame.tsx';
import { useToast } from '../../ui/toast.tsx';
import { CHANNEL_NAMES } from '../messages/message-text.ts';
import {
  ChangePrices,
  type ChangePricesInput,
  type Channel,
  OperatorPrices,
  PreviewPrices,
  type PriceFactsFragment,
} from './operator.generated.ts';
import { PricePreview } from './price-preview.tsx';
import { whereOf } from './price-text.ts';

/** A row of the table while it is edited. */
interface Draft {
  readonly key: string;
  readonly channel: Channel;
  readonly prefix: string;
  /** The amount as the person typed it. */
  readonly amount: string;
  /** The price in force. Undefined for a row that was added. */
  readonly saved: PriceFactsFragment | undefined;
  readonly isRemoved: boolean;
  /** False for a price that came with the gateway. A person can confirm it without changing it. */
  readonly isConfirmed: boolean;
}
type Change = ChangePricesInput['changes'][number] & { readonly key: string };

const draftOf = (price: PriceFactsFragment): Draft => ({
  key: `${price.channel} ${price.prefix}`,
  channel: price.channel,
  prefix: price.prefix,
  amount: String(price.amount),
  saved: price,
  isRemoved: false,
  isConfirmed: price.isConfirmed,
});

/** Returns the changes that the drafts ask for, each with the price that the person saw. */
function changesOf(drafts: readonly Draft[]): readonly Change[] {
  return drafts
    .filter(({ saved, isRemoved, amount, isConfirmed }) =>
      saved ? isRemoved || amount !== String(saved.amount) || isConfirmed !== saved.isConfirmed : !isRemoved,
    )
    .map(({ key, channel, prefix, amount, saved, isRemoved }) => ({
      key,
      channel,
      prefix: prefix.replace(/^\+/, ''),
      amount: isRemoved ? null : Number(amount),
      before: saved?.amount ?? null,
    }));
}

/** The prices of one currency as a table that is edited in place. All changes are previewed and saved together. */
export function PriceEditor({
  currency,
  prices,
}: {
  currency: string;
  prices: readonly PriceFactsFragment[];
}) {
  const toast = useToast();
  const [drafts, setDrafts] = useState<readonly Draft[]>(() => prices.map(draftOf));
  const [asked, setAsked] = useState<readonly Change[]>();
  const [missing, setMissing] = useState<ReadonlySet<string>>(new Set());
  const input: ChangePricesInput = {
    currency,
    changes: (asked ?? []).map(({ key: _key, ...change }) => change),
  };
  const preview = useApiQuery(PreviewPrices, { input }, { isEnabled: asked !== undefined });
  const save = useApiMutation(ChangePrices, {
    refetches: [OperatorPrices],
    onDone: ({ changePrices }) => {
      setDrafts(changePrices.map(draftOf).sort((left, right) => (left.key < right.key ? -1 : 1)));
      setAsked(undefined);
      toast({ text: t('The prices are changed. They hold from now on.') });
    },
  });
  const changes = changesOf(drafts);
  const edit = (key: string, change: Partial<Draft>) => {
    setAsked(undefined);
    setDrafts(drafts.map((draft) => (draft.key === key ? { ...draft, ...change } : draft)));
  };
  const add = () =>
    setDrafts([
      ...drafts,
      {
        key: crypto.randomUUID(),
        channel: 'SMS',
        prefix: '',
        amount: '',
        saved: undefined,
        isRemoved: false,
        isConfirmed: true,
      },
    ]);
  const ask = () => {
    const empty = drafts.filter(({ amount, isRemoved }) => !isRemoved && amount.trim() === '');
    setMissing(new Set(empty.map(({ key }) => key)));
    if (empty.length === 0) setAsked(changes);
  };
  const faultOf = (key: string) =>
    missing.has(key) ? t('The price is needed.') : faultAt(preview.error, asked ?? [], key);
  return (
    <div className="stack">
      <TableFrame caption={t('Prices of one unit in {currency}', { currency })}>
        <thead>
          <tr>
            <th scope="col">{t('Channel')}</th>
            <th scope="col">{t('Destination')}</th>
            <th scope="col" className="is-number">
              {t('Price')}
            </th>
            <th scope="col">
              <span className="visually-hidden">{t('Change')}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {drafts.map((draft) => (
            <DraftRow
              key={draft.key}
              of={draft}
              fault={faultOf(draft.key)}
              onEdit={edit}
              onDrop={() =>
                draft.saved
                  ? edit(draft.key, { isRemoved: !draft.isRemoved })
                  : setDrafts(drafts.filter(({ key }) => key !== draft.key))
              }
            />
          ))}
        </tbody>
      </TableFrame>
      {preview.error && !drafts.some(({ key }) => faultOf(key)) && (
        <Notice tone="bad">{preview.error.message}</Notice>
      )}
      {drafts.length === 0 && (
        <Notice tone="warn">
          {t('Accounts in {currency} cannot send before a price is set.', { currency })}
        </Notice>
      )}
      <div className="row">
        <Button onClick={add}>{t('Add a price')}</Button>
        <Button
          look="primary"
          isDisabled={changes.length === 0}
          isBusy={asked !== undefined && preview.isFetching}
          onClick={ask}
        >
          {changes.length === 0
            ? t('Preview')
            : t('{count, plural, one {Preview # change} other {Preview # changes}}', {
                count: changes.length,
              })}
        </Button>
        {changes.length > 0 && (
          <Button
            onClick={() => {
              setAsked(undefined);
              setDrafts(prices.map(draftOf));
            }}
          >
            {t('Discard')}
          </Button>
        )}
      </div>
      {asked && preview.data && !preview.error && (
        <ConfirmDialog
          title={t('{count, plural, one {Save this change?} other {Save these # changes?}}', {
            count: asked.length,
          })}
          consequence={
            <PricePreview changes={input.changes} currency={currency} of={preview.data.previewPrices} />
          }
          confirmLabel={t('Save')}
          look="primary"
          onConfirm={() => save.mutateAsync({ input })}
          onClose={() => setAsked(undefined)}
        />
      )}
    </div>
  );
}

/** Returns the faults of the change of one row, as the gateway names them: `input.changes.2.amount`. */
function faultAt(error: ApiError | null, asked: readonly Change[], key: string): string | undefined {
  const index = asked.findIndex((change) => change.key === key);
  if (!error || index < 0) return undefined;
  const found = error.fields.filter(({ path }) => path.startsWith(`input.changes.${index}.`));
  const own = found.map(({ path, message }) =>
    path.endsWith('.prefix') ? t('prefix: {message}', { message }) : message,
  );
  return own.length === 0 ? undefined : own.join('; ');
}

function DraftRow({
  of: draft,
  fault,
  onEdit,
  onDrop,
}: {
  of: Draft;
  fault: string | undefined;
  onEdit: (key: string, change: Partial<Draft>) => void;
  onDrop: () => void;
}) {
  const { key, channel, prefix, amount, saved, isRemoved, isConfirmed } = draft;
  const name = saved
    ? t('{channel} to {where}', { channel: CHANNEL_NAMES[channel], where: whereOf(prefix) })
    : t('the new price');
  return (
    <tr>
      <td data-label={t('Channel')}>
        {saved ? (
          CHANNEL_NAMES[channel]
        ) : (
          <select
            className="input"
            aria-label={t('Channel of the new price')}
            value={channel}
            onChange={({ target }) => onEdit(key, { channel: target.value as Channel })}
          >
            {Object.entries(CHANNEL_NAMES).map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        )}
      </td>
      <td data-label={t('Destination')}>
        {saved ? (
          isConfirmed ? (
            whereOf(prefix)
          ) : (
            t('{where} (not confirmed)', { where: whereOf(prefix) })
          )
        ) : (
          <input
            className="input"
            aria-label={t('Prefix of the new price')}
            inputMode="numeric"
            autoComplete="off"
            placeholder={t('2567; empty: every destination')}
            value={prefix}
            onChange={({ target }) => onEdit(key, { prefix: target.value })}
          />
        )}
      </td>
      <td data-label={t('Price')} className="is-number">
        {isRemoved ? (
          <s>{amount}</s>
        ) : (
          <input
            className="input"
            type="number"
            min={0}
            step="any"
            aria-label={t('Price of {name}', { name })}
            aria-invalid={fault !== undefined}
            value={amount}
            onChange={({ target }) => onEdit(key, { amount: target.value })}
          />
        )}
        {fault && (
          <span className="field-error" role="alert">
            {fault}
          </span>
        )}
      </td>
      <td>
        <div>
          {!isConfirmed && !isRemoved && (
            <Button
              look="quiet"
              aria-label={t('Confirm {name}', { name })}
              onClick={() => onEdit(key, { isConfirmed: true })}
            >
              {t('Confirm')}
            </Button>
          )}
          <Button
            look="quiet"
            aria-label={isRemoved ? t('Keep {name}', { name }) : t('Remove {name}', { name })}
            onClick={onDrop}
          >
            {isRemoved ? t('Keep') : t('Remove')}
          </Button>
        </div>
      </td>
    </tr>
  );
}
