import { useState } from 'react';
import { type AnyDocument, useApiMutation } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { Form, textOf } from '../../ui/form.tsx';
import { T } from '../../ui/t.tsx';
import { useToast } from '../../ui/toast.tsx';
import { AccountSettings, SetRetention } from './settings.generated.ts';

interface Retention {
  readonly contentDays: number | null;
  readonly messageDays: number | null;
}

/** Formats a number of days of retention. Null means that messages are never deleted. */
export function daysText(days: number | null): string {
  if (days === null) return t('kept for ever');
  return t('{days, plural, one {kept for a day} other {kept for # days}}', { days });
}

const daysOf = (values: FormData, name: string) => {
  const text = textOf(values, name);
  return text === '' ? null : Number(text);
};

/** Sets the retention of an account. It asks for confirmation first, because a shorter retention deletes messages. */
export function RetentionForm({
  of,
  accountId = null,
  refetches = [],
}: {
  of: Retention;
  /** Operators give the account to change. Null means the own account. */
  accountId?: string | null;
  refetches?: readonly AnyDocument[];
}) {
  const toast = useToast();
  const [asked, setAsked] = useState<Retention>();
  const set = useApiMutation(SetRetention, {
    refetches: [AccountSettings, ...refetches],
    onDone: () => toast({ text: t('Saved. It holds from now on.') }),
  });
  return (
    <section className="card stack" aria-labelledby="retention">
      <h2 id="retention">{t('How long messages are kept')}</h2>
      <Form
        label={t('How long messages are kept')}
        error={set.error}
        onSubmit={(values) =>
          setAsked({
            contentDays: daysOf(values, 'contentDays'),
            messageDays: daysOf(values, 'messageDays'),
          })
        }
      >
        <Field
          name="contentDays"
          label={t('Days until the text of a message is erased')}
          type="number"
          min={1}
          hint={t('Empty: never. What it cost and what became of it stay.')}
          defaultValue={of.contentDays ?? ''}
        />
        <Field
          name="messageDays"
          label={t('Days until a message is deleted')}
          type="number"
          min={1}
          hint={t('Empty: never. No fewer than for its text; its ledger entries stay.')}
          defaultValue={of.messageDays ?? ''}
        />
        <div className="row">
          <Button type="submit" isBusy={set.isPending}>
            {t('Save')}
          </Button>
        </div>
      </Form>
      {asked && (
        <ConfirmDialog
          title={t('Change how long messages are kept?')}
          consequence={
            <>
              <p>
                <T
                  text="Texts: {texts}. Messages: {messages}, both counted from the acceptance of each."
                  texts={daysText(asked.contentDays)}
                  messages={daysText(asked.messageDays)}
                />
              </p>
              <p>{t('Anything older is deleted soon after you confirm. This cannot be undone.')}</p>
            </>
          }
          confirmLabel={t('Change retention')}
          // The form's fields show the error, so the dialog closes after a failure too.
          onConfirm={() => set.mutateAsync({ accountId, ...asked }).catch(() => undefined)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </section>
  );
}
