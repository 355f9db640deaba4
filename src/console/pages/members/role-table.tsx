import { formatName } from '../../lib/format.ts';
import { t } from '../../lib/words.ts';
import { DataTable } from '../../ui/data-table.tsx';
import { ACCOUNT_ROLES, ROLE_FACTS } from './role-facts.ts';

/** A table of what each role may do. */
export function RoleTable() {
  return (
    <section className="stack" aria-labelledby="roles">
      <h2 id="roles">{t('What each role may do')}</h2>
      <DataTable
        caption={t("A change of role holds from the person's next request on")}
        rows={ROLE_FACTS}
        keyOf={({ what }) => what}
        columns={[
          { header: t('What'), cell: ({ what }) => what },
          ...ACCOUNT_ROLES.map((role) => ({
            header: formatName(role),
            cell: ({ roles }: (typeof ROLE_FACTS)[number]) =>
              roles.includes(role) ? t('Yes') : <span className="quiet">{t('No')}</span>,
          })),
        ]}
      />
    </section>
  );
}
