import { useState } from 'react';
import { ApiError } from '../../lib/api-error.ts';
import { useApiMutation } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { Select, TextArea } from '../../ui/field.tsx';
import { Form, textOf } from '../../ui/form.tsx';
import { useToast } from '../../ui/toast.tsx';
import { nameOf } from './sender-text.ts';
import { ReviewSender, SenderDetail, type SenderRowFragment, Senders } from './senders.generated.ts';

interface Answer {
  readonly status: 'APPROVED' | 'REJECTED';
  readonly note: string;
}

/** For operators: approves or rejects a sender, also one that was answered before. */
export function Review({ of }: { of: SenderRowFragment }) {
  const toast = useToast();
  const [asked, setAsked] = useState<Answer>();
  const [fault, setFault] = useState<ApiError>();
  const review = useApiMutation(ReviewSender, {
    refetches: [SenderDetail, Senders],
    onDone: ({ reviewSender: { status } }) =>
      toast({
        text:
          status === 'APPROVED'
            ? t('{name} is approved.', { name: nameOf(of) })
            : t('{name} is rejected.', { name: nameOf(of) }),
      }),
  });
  const submit = (values: FormData) => {
    const [status, note] = [textOf(values, 'status'), textOf(values, 'note')];
    review.reset();
    if (status !== 'APPROVED' && status !== 'REJECTED') {
      const fields = [{ path: 'status', message: t('must be chosen: approve or reject') }];
      setFault(new ApiError('BAD_USER_INPUT', '', { fields }));
      return;
    }
    setFault(undefined);
    if (of.status === 'APPROVED' && status === 'REJECTED') setAsked({ status, note });
    else review.mutate({ id: of.id, status, note });
  };
  return (
    <section className="card stack" aria-labelledby="review">
      <h2 id="review">{t('Your answer')}</h2>
      {of.channel === 'EMAIL' && of.verifiedAt === null && (
        <p className="quiet">
          {t('Its DNS record approves it without you. Before that it can only be rejected.')}
        </p>
      )}
      <Form
        // A new answer makes a new form, which shows the stored note.
        key={of.reviewedAt}
        label={t('Answer the request')}
        error={fault ?? review.error}
        onSubmit={submit}
      >
        <Select
          name="status"
          label={t('Answer')}
          options={[
            { value: '', label: t('Choose') },
            { value: 'APPROVED', label: t('Approve') },
            { value: 'REJECTED', label: t('Reject') },
          ]}
        />
        <TextArea
          name="note"
          label={t('Note')}
          hint={t('The account reads it. With a rejection, say what is missing. At most 500 characters.')}
          defaultValue={of.note ?? ''}
        />
        <div className="row">
          <Button type="submit" look="primary" isBusy={review.isPending}>
            {t('Answer')}
          </Button>
        </div>
      </Form>
      {asked && (
        <ConfirmDialog
          title={t('Reject {name}, which is approved?', { name: nameOf(of) })}
          consequence={t(
            'Where senders must be approved, messages of the account from it are refused from now on.',
          )}
          confirmLabel={t('Reject it')}
          // The form shows the error, so the dialog closes after a failure too.
          onConfirm={() => review.mutateAsync({ id: of.id, ...asked }).catch(() => undefined)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </section>
  );
}
