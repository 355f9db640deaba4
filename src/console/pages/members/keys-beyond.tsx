import { counted } from '../../lib/counts.ts';
import { t } from '../../lib/words.ts';
import { Checkbox } from '../../ui/field.tsx';
import { T } from '../../ui/t.tsx';
import { KeyNames, livingOf } from '../api-keys/key-names.tsx';
import type { Member } from './member.ts';
import type { AccountRole } from './role-facts.ts';

type Key = Member['apiKeys'][number];

/**
 * Returns the keys of a person that allow more than `role`, and that the gateway revokes when the person gets this
 * role. Null means removal: all keys.
 */
export function keysBeyond({ apiKeys }: Member, role: AccountRole | null): readonly Key[] {
  if (role === 'OWNER' || role === 'ADMIN') return [];
  return livingOf(apiKeys).filter(({ scopes }) => role !== 'DEVELOPER' || scopes.includes('FULL_ACCESS'));
}

/** Asks whether to revoke or keep these keys. Renders nothing if there are none. */
export function KeysBeyond({
  keys,
  isKept,
  onChange,
}: {
  keys: readonly Key[];
  isKept: boolean;
  onChange: (isKept: boolean) => void;
}) {
  if (keys.length === 0) return null;
  return (
    <div className="stack">
      <p>
        <T text="{keys} whose secret they know will be revoked:" keys={counted(keys.length, 'key')} />
      </p>
      <KeyNames keys={keys} />
      <Checkbox
        name="keepKeys"
        label={t('Keep these keys working')}
        hint={t(
          'Everybody who knows a key can use it. To keep a program running, rotate its key yourself first.',
        )}
        checked={isKept}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    </div>
  );
}
