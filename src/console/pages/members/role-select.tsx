import { formatName } from '../../lib/format.ts';
import { useViewer } from '../../lib/session.tsx';
import { Select } from '../../ui/field.tsx';
import type { Role } from './members.generated.ts';
import { ACCOUNT_ROLES, type AccountRole } from './role-facts.ts';

const MEANINGS: Readonly<Record<AccountRole, string>> = {
  OWNER: 'everything in the account',
  ADMIN: 'keys, webhooks and members; sends',
  DEVELOPER: 'sends; contacts, webhooks and their own keys',
  SUPPORT: 'reads; resends messages and deliveries',
  VIEWER: 'reads',
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
      label="Role"
      options={options}
      defaultValue={chosen}
      onChange={(event) => onChoose?.(event.currentTarget.value as AccountRole)}
    />
  );
}
