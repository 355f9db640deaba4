import { formatName } from '../../lib/format.ts';
import { useViewer } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { Select } from '../../ui/field.tsx';
import type { Role } from './members.generated.ts';
import { ACCOUNT_ROLES, type AccountRole } from './role-facts.ts';

const MEANINGS: Readonly<Record<AccountRole, string>> = {
  OWNER: t('everything in the account'),
  ADMIN: t('keys, webhooks and members; sends'),
  DEVELOPER: t('sends; contacts, webhooks and their own keys'),
  SUPPORT: t('reads; resends messages and deliveries'),
  VIEWER: t('reads'),
};

/** Selects one of the roles that the signed-in person may give. */
export function RoleSelect({ chosen, onChoose }: { chosen: Role; onChoose?: (role: AccountRole) => void }) {
  const { role } = useViewer();
  const options = ACCOUNT_ROLES.filter((each) => each !== 'OWNER' || role === 'OWNER').map((value) => ({
    value,
    label: `${formatName(value)}: ${MEANINGS[value]}`,
  }));
  return (
    <Select
      name="role"
      label={t('Role')}
      options={options}
      defaultValue={chosen}
      onChange={(event) => onChoose?.(event.currentTarget.value as AccountRole)}
    />
  );
}
