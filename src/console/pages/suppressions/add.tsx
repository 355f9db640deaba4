import { useState } from 'react';
import { useEnvironment } from '../../lib/environment.ts';
import { useApiMutation } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog, DialogActions } from '../../ui/dialog.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { Form, textOf } from '../../ui/form.tsx';
import { useToast } from '../../ui/toast.tsx';
import { optionsOf } from '../messages/message-text.ts';
import { SCOPE_NAMES, SUPPRESSED_CHANNEL_NAMES } from './suppression-text.ts';
import {
  Suppress,
  type SuppressedChannel,
  type SuppressionScope,
  Suppressions,
} from './suppressions.generated.ts';

const TITLE = t('Add an opt-out');

/** Adds an opt-out in a dialog. */
export function AddSuppression() {
  const [isOpen, setIsOpen] = useState(false);
  const toast = useToast();
  const environment = useEnvironment();
  const suppress = useApiMutation(Suppress, {
    refetches: [Suppressions],
    onDone: ({ suppress: { address } }) => {
      setIsOpen(false);
      toast({ text: t('{address} is opted out.', { address }) });
    },
  });
  const open = () => {
    suppress.reset();
    setIsOpen(true);
  };
  const submit = (values: FormData) =>
    suppress.mutate({
      input: {
        channel: textOf(values, 'channel') as SuppressedChannel,
        address: textOf(values, 'address'),
        scope: textOf(values, 'scope') as SuppressionScope,
        reason: textOf(values, 'reason') || null,
        environment,
      },
    });
  return (
    <>
      <Button look="primary" onClick={open}>
        {TITLE}
      </Button>
      {isOpen && (
        <Dialog title={TITLE} onClose={() => setIsOpen(false)} mustAnswer={suppress.isPending}>
          <p>{t('If the address is on the list already, this scope and reason replace its own.')}</p>
          <Form label={TITLE} error={suppress.error} onSubmit={submit}>
            <Select name="channel" label={t('Channel')} options={optionsOf(SUPPRESSED_CHANNEL_NAMES)} />
            <Field
              name="address"
              label={t('Address')}
              autoComplete="off"
              hint={t('A phone number such as +256700123456, or an email address.')}
            />
            <Select
              name="scope"
              label={t('Scope')}
              options={optionsOf(SCOPE_NAMES)}
              hint={t(
                'Marketing leaves out only messages with this purpose. One-time passwords still arrive.',
              )}
            />
            <Field
              name="reason"
              label={t('Reason')}
              autoComplete="off"
              hint={t('Such as “Asked on the phone”.')}
            />
            <DialogActions>
              <Button onClick={() => suppress.isPending || setIsOpen(false)}>{t('Cancel')}</Button>
              <Button type="submit" look="primary" isBusy={suppress.isPending}>
                {t('Add')}
              </Button>
            </DialogActions>
          </Form>
        </Dialog>
      )}
    </>
  );
}
