import { useEnvironment } from '../../lib/environment.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { Can, usePermission } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { ButtonLink } from '../../ui/button.tsx';
import type { Column } from '../../ui/data-table.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { Filters, useFilter } from '../../ui/filters.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { PAGE_SIZE, PagedTable } from '../../ui/paged-table.tsx';
import { useAfter } from '../../ui/pager.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Time } from '../../ui/values.tsx';
import { optionsOf } from '../messages/message-text.ts';
import { AddSuppression } from './add.tsx';
import { ExportButton } from './export.tsx';
import { RemoveSuppressionButton } from './remove.tsx';
import { SCOPE_NAMES, SOURCE_TEXTS, SUPPRESSED_CHANNEL_NAMES } from './suppression-text.ts';
import {
  type SuppressedChannel,
  type SuppressionRowFragment,
  Suppressions,
} from './suppressions.generated.ts';

const COLUMNS: readonly Column<SuppressionRowFragment>[] = [
  { header: t('Address'), cell: ({ address }) => address, isWhole: true },
  { header: t('Channel'), cell: ({ channel }) => SUPPRESSED_CHANNEL_NAMES[channel] },
  { header: t('Scope'), cell: ({ scope }) => SCOPE_NAMES[scope] },
  { header: t('Source'), cell: ({ source }) => SOURCE_TEXTS[source] },
  { header: t('Reason'), cell: ({ reason }) => reason ?? <span className="quiet">–</span> },
  { header: t('Since'), cell: ({ createdAt }) => <Time at={createdAt} />, isWhole: true },
];
const ACTIONS: Column<SuppressionRowFragment> = {
  header: t('Actions'),
  cell: (suppression) => <RemoveSuppressionButton of={suppression} />,
};

/** The addresses to which the account must not send, with filters, an export and forms to change them. */
export default function SuppressionsPage() {
  const variables = {
    first: PAGE_SIZE,
    after: useAfter(),
    channel: channelOf(useFilter('channel')),
    address: useFilter('address'),
    environment: useEnvironment(),
  };
  const suppressions = useApiQuery(Suppressions, variables, { keepsLast: true });
  const mayRemove = usePermission('suppression.remove');
  return (
    <>
      <PageHeader title={t('Opt-outs')}>
        <Can run="recipient.erase">
          <ButtonLink href="/suppressions/person">{t('Data of a person')}</ButtonLink>
        </Can>
        <Can run="suppression.export">
          <ExportButton />
        </Can>
        <Can
          run="suppression.add"
          otherwise={<span className="quiet">{t('Your role can read opt-outs, not change them.')}</span>}
        >
          <ButtonLink href="/suppressions/import">{t('Import CSV')}</ButtonLink>
          <AddSuppression />
        </Can>
      </PageHeader>
      <p className="quiet">
        {t('Sends leave these addresses out, as their scope says, and cost nothing for them.')}
      </p>
      <Filters label={t('Search opt-outs')}>
        <Field
          name="address"
          label={t('Address')}
          type="search"
          autoComplete="off"
          placeholder={t('A whole number or email')}
        />
        <Select
          name="channel"
          label={t('Channel')}
          options={[{ value: '', label: t('All') }, ...optionsOf(SUPPRESSED_CHANNEL_NAMES)]}
        />
      </Filters>
      <Loaded query={suppressions}>
        {(data) => (
          <PagedTable
            of={data.suppressions}
            caption={t('The newest first')}
            columns={mayRemove ? [...COLUMNS, ACTIONS] : COLUMNS}
            keyOf={({ id }) => id}
            empty={
              <EmptyState title={t('No opt-outs yet')}>
                <p>
                  {t(
                    'People who reply STOP or use the opt-out link of a message are added here by themselves, and so are mailboxes that do not exist. Add people who asked you in another way.',
                  )}
                </p>
              </EmptyState>
            }
          />
        )}
      </Loaded>
    </>
  );
}

function channelOf(text: string | null): SuppressedChannel | null {
  return text !== null && text in SUPPRESSED_CHANNEL_NAMES ? (text as SuppressedChannel) : null;
}
