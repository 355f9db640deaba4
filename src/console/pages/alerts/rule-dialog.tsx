import { useState } from 'react';
import { useApiMutation } from '../../lib/queries.ts';
import { useViewer } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog, DialogActions } from '../../ui/dialog.tsx';
import { Checkbox, Field, Select, TextArea } from '../../ui/field.tsx';
import { Form, linesOf, textOf } from '../../ui/form.tsx';
import { OpenAlerts } from '../../ui/open-alerts.generated.ts';
import { useToast } from '../../ui/toast.tsx';
import { KIND_NAMES, nobodyOf, standardRecipientsOf, THRESHOLD_LABELS } from './alert-text.ts';
import { type AlertRuleRowFragment, AlertRules, Alerts, SetAlertRule } from './alerts.generated.ts';

type Recipients = 'standard' | 'people' | 'nobody';

/** Changes the rule of a kind of alert in a dialog. */
export function ChangeRuleButton({ of: rule }: { of: AlertRuleRowFragment }) {
  const [isOpen, setIsOpen] = useState(false);
  const name = KIND_NAMES[rule.kind];
  return (
    <>
      <Button aria-label={t('Change: {name}', { name })} onClick={() => setIsOpen(true)}>
        {t('Change')}
      </Button>
      {isOpen && <RuleDialog rule={rule} name={name} onClose={() => setIsOpen(false)} />}
    </>
  );
}

function RuleDialog({
  rule,
  name,
  onClose,
}: {
  rule: AlertRuleRowFragment;
  name: string;
  onClose: () => void;
}) {
  const toast = useToast();
  const isOperator = useViewer().account === null;
  const [recipients, setRecipients] = useState<Recipients>(recipientsOf(rule));
  const set = useApiMutation(SetAlertRule, {
    refetches: [AlertRules, Alerts, OpenAlerts],
    onDone: () => {
      onClose();
      toast({ text: t('Saved. It holds from the next look on.') });
    },
  });
  const submit = (values: FormData) =>
    set.mutate({
      input: {
        kind: rule.kind,
        isEnabled: values.has('isEnabled'),
        ...(rule.thresholdUnit !== null && { threshold: thresholdIn(values) }),
        mailTo: mailToIn(recipients, values),
      },
    });
  return (
    <Dialog title={name} onClose={onClose} mustAnswer={set.isPending}>
      <Form label={name} error={set.error} onSubmit={submit}>
        <Checkbox
          name="isEnabled"
          label={t('Open alerts of this kind')}
          hint={t('Without it, open ones are resolved, and nobody is told.')}
          defaultChecked={rule.isEnabled}
        />
        {rule.thresholdUnit !== null && (
          <Field
            name="threshold"
            label={THRESHOLD_LABELS[rule.thresholdUnit]}
            type="number"
            step="any"
            min={0}
            hint={t('Empty: the default, {number}.', { number: rule.defaultThreshold ?? 0 })}
            defaultValue={rule.threshold ?? ''}
          />
        )}
        <Select
          name="recipients"
          label={t('Who gets mails')}
          options={recipientOptions(rule, isOperator)}
          value={recipients}
          onChange={({ target }) => setRecipients(target.value as Recipients)}
        />
        {recipients === 'people' && (
          <TextArea
            name="mailTo"
            label={t('Email addresses')}
            hint={t('People who can sign in to this account, one in each line.')}
            defaultValue={rule.mailTo?.join('\n') ?? ''}
          />
        )}
        <DialogActions>
          <Button onClick={() => set.isPending || onClose()}>{t('Cancel')}</Button>
          <Button type="submit" look="primary" isBusy={set.isPending}>
            {t('Save')}
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  );
}

function recipientOptions({ kind }: AlertRuleRowFragment, isOperator: boolean) {
  const options: readonly { readonly value: Recipients; readonly label: string }[] = [
    { value: 'standard', label: standardRecipientsOf(kind, isOperator) },
    { value: 'people', label: t('People whom you name') },
    { value: 'nobody', label: nobodyOf(kind) },
  ];
  return options;
}

function recipientsOf({ mailTo }: AlertRuleRowFragment): Recipients {
  if (mailTo === null) return 'standard';
  return mailTo.length > 0 ? 'people' : 'nobody';
}

function thresholdIn(values: FormData): number | null {
  const text = textOf(values, 'threshold');
  return text === '' ? null : Number(text);
}

function mailToIn(recipients: Recipients, values: FormData): string[] | null {
  if (recipients === 'standard') return null;
  return recipients === 'people' ? linesOf(values, 'mailTo') : [];
}
