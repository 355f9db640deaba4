import { useEnvironment } from '../../lib/environment.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { Can } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { ButtonLink } from '../../ui/button.tsx';
import type { Column } from '../../ui/data-table.tsx';
import { Field } from '../../ui/field.tsx';
import { Filters, useFilter } from '../../ui/filters.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { PAGE_SIZE, PagedTable } from '../../ui/paged-table.tsx';
import { useAfter } from '../../ui/pager.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Time } from '../../ui/values.tsx';
import { type ContactRowFragment, Contacts } from './contacts.generated.ts';
import { nameOf } from './name-of.ts';
import { Tags } from './tags.tsx';

const DASH = <span className="quiet">–</span>;
const COLUMNS: readonly Column<ContactRowFragment>[] = [
  { header: t('Name'), cell: nameOf },
  { header: t('Phone'), cell: ({ phone }) => phone ?? DASH, isWhole: true },
  { header: t('Email'), cell: ({ email }) => email ?? DASH },
  { header: t('External id'), cell: ({ externalId }) => (externalId ? <code>{externalId}</code> : DASH) },
  { header: t('Tags'), cell: ({ tags }) => (tags.length === 0 ? DASH : <Tags of={tags} />) },
  { header: t('Changed'), cell: ({ updatedAt }) => <Time at={updatedAt} />, isWhole: true },
];

/** The list of contacts, with search, tag filter and pages. */
export default function ContactsPage() {
  const variables = {
    first: PAGE_SIZE,
    after: useAfter(),
    search: useFilter('search'),
    tag: useFilter('tag'),
    environment: useEnvironment(),
  };
  const contacts = useApiQuery(Contacts, variables, { keepsLast: true });
  return (
    <>
      <PageHeader title={t('Contacts')}>
        <ButtonLink href="/contacts/imports">{t('Imports')}</ButtonLink>
        <Can
          run="contact.create"
          otherwise={<span className="quiet">{t('Your role can read contacts, not change them.')}</span>}
        >
          <ButtonLink href="/contacts/import">{t('Import CSV')}</ButtonLink>
          <ButtonLink href="/contacts/new" look="primary">
            {t('Add a contact')}
          </ButtonLink>
        </Can>
      </PageHeader>
      <Filters label={t('Search contacts')}>
        <Field name="search" label={t('Search')} type="search" placeholder={t('Name, phone, email or id')} />
        <Field name="tag" label={t('Tag')} placeholder={t('Exactly this tag')} />
      </Filters>
      <Loaded query={contacts}>
        {(data) => (
          <PagedTable
            of={data.contacts}
            caption={t('The newest first')}
            columns={COLUMNS}
            keyOf={({ id }) => id}
            hrefOf={({ id }) => `/contacts/${id}`}
            empty={
              <EmptyState title={t('No contacts yet')}>
                <p>
                  {t('Contacts are the people you write to. Bring them all from a spreadsheet, or add one.')}
                </p>
                <Can run="contact.import">
                  <div className="row">
                    <ButtonLink href="/contacts/import">{t('Import CSV')}</ButtonLink>
                    <ButtonLink href="/contacts/new">{t('Add a contact')}</ButtonLink>
                  </div>
                </Can>
              </EmptyState>
            }
          />
        )}
      </Loaded>
    </>
  );
}
