import { useState } from 'react';
import { formatName } from '../../lib/format.ts';
import { useApiMutation } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog, DialogActions } from '../../ui/dialog.tsx';
import { Form, textOf } from '../../ui/form.tsx';
import { T } from '../../ui/t.tsx';
import { useToast } from '../../ui/toast.tsx';
import { ApiKeys } from '../api-keys/api-keys.generated.ts';
import { KeysBeyond, keysBeyond } from './keys-beyond.tsx';
import type { Member } from './member.ts';
import { Members, SetMemberRole } from './members.generated.ts';
import type { AccountRole } from './role-facts.ts';
import { RoleSelect } from './role-select.tsx';

/** Changes the role of a person, and offers an undo. */
export function ChangeRole({ of }: { of: Member }) {
  const [isOpen, setIsOpen] = useState(false);
  const toast = useToast();
  const [chosen, setChosen] = useState(of.role);
  const [keepKeys, setKeepKeys] = useState(false);
  const set = useApiMutation(SetMemberRole, { refetches: [Members, ApiKeys] });
  const change = (role: AccountRole) => {
    // The undo restores the role. Keys that the change revoked stay revoked, and the undo revokes no other keys.
    const undo = () => set.mutateNext({ userId: of.id, role: of.role, keepKeys: true });
    set.mutate(
      { userId: of.id, role, keepKeys },
      {
        onSuccess: () => {
          setIsOpen(false);
          toast({ text: t('{email} is now {role}.', { email: of.email, role: formatName(role) }), undo });
        },
      },
    );
  };
  const open = () => {
    set.reset();
    setChosen(of.role);
    setKeepKeys(false);
    setIsOpen(true);
  };
  return (
    <>
      <Button onClick={open}>
        <T
          text="Change role <span>of {email}</span>"
          span={<span className="visually-hidden" />}
          email={of.email}
        />
      </Button>
      {isOpen && (
        <Dialog
          title={t('Role of {email}', { email: of.email })}
          onClose={() => setIsOpen(false)}
          mustAnswer={set.isPending}
        >
          <Form
            label={t('Role of {email}', { email: of.email })}
            error={set.error}
            onSubmit={(values) => change(textOf(values, 'role') as AccountRole)}
          >
            <RoleSelect chosen={of.role} onChoose={setChosen} />
            <KeysBeyond
              keys={keysBeyond(of, chosen as AccountRole)}
              isKept={keepKeys}
              onChange={setKeepKeys}
            />
            <DialogActions>
              <Button onClick={() => set.isPending || setIsOpen(false)}>{t('Cancel')}</Button>
              <Button type="submit" look="primary" isBusy={set.isPending}>
                {t('Change role')}
              </Button>
            </DialogActions>
          </Form>
        </Dialog>
      )}
    </>
  );
}
