import { useState } from 'react';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { Can } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm-button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { Form, textOf } from '../../ui/form.tsx';
import { Loaded } from '../../ui/states.tsx';
import { useToast } from '../../ui/toast.tsx';
import {
  AssignWhatsAppNumber,
  NumberOfAccount,
  type NumberOfAccountQuery,
  RemoveWhatsAppNumber,
} from './operator.generated.ts';

type Assigned = NonNullable<NumberOfAccountQuery['senders']>['nodes'][number];

/** The WhatsApp number that belongs to an account, which an operator assigns, replaces and takes away. */
export function WhatsAppNumber({ accountId }: { accountId: string }) {
  const query = useApiQuery(NumberOfAccount, { accountId });
  return (
    <section className="card stack" aria-labelledby="whatsapp-number">
      <h2 id="whatsapp-number">{t('WhatsApp number')}</h2>
      <Loaded query={query}>
        {({ senders }) => {
          const [assigned] = senders.nodes;
          const shown = assigned?.number ?? t('It shares the number of the gateway with other accounts.');
          return (
            <Can run="sender.assignNumber" otherwise={<p>{shown}</p>}>
              {assigned === undefined && <p className="quiet">{shown}</p>}
              <NumberForm key={assigned?.id} accountId={accountId} of={assigned} />
            </Can>
          );
        }}
      </Loaded>
    </section>
  );
}

function NumberForm({ accountId, of }: { accountId: string; of: Assigned | undefined }) {
  const toast = useToast();
  const [asked, setAsked] = useState<{ number: string; phoneNumberId: string }>();
  const assign = useApiMutation(AssignWhatsAppNumber, {
    refetches: [NumberOfAccount],
    onDone: ({ assignWhatsAppNumber: { number, verifiedAt } }) => {
      const from = { number: number ?? '' };
      const isConfirmed = verifiedAt !== null;
      const text = isConfirmed
        ? t('The account sends from {number} now.', from)
        : t(
            'The account sends from {number} now. WhatsApp did not confirm the ID: look at it under Carriers.',
            from,
          );
      toast({ text });
    },
  });
  const remove = useApiMutation(RemoveWhatsAppNumber, {
    refetches: [NumberOfAccount],
    onDone: () => toast({ text: t('The account shares the number of the gateway now.') }),
  });
  return (
    <>
      <Form
        label={t('WhatsApp number of the account')}
        error={assign.error}
        onSubmit={(values) => {
          const given = {
            number: textOf(values, 'number'),
            phoneNumberId: textOf(values, 'phoneNumberId'),
          };
          if (of === undefined) assign.mutate({ accountId, ...given });
          else setAsked(given);
        }}
      >
        <Field
          name="number"
          label={t('Phone number')}
          hint={t('With its country, such as +256700123456.')}
          defaultValue={of?.number ?? ''}
        />
        <Field
          name="phoneNumberId"
          label={t('Phone number ID')}
          hint={t(
            "The ID that WhatsApp Manager shows beside the number. The gateway's app must have access to it.",
          )}
          defaultValue={of?.phoneNumberId ?? ''}
        />
        <div className="row">
          <Button type="submit" isBusy={assign.isPending}>
            {of === undefined ? t('Assign the number') : t('Replace the number')}
          </Button>
          {of !== undefined && (
            <ConfirmButton
              title={t('Take {number} away from the account?', { number: of.number ?? '' })}
              consequence={t(
                'It then shares the number of the gateway. Messages that wait to leave from its number fail, and are refunded.',
              )}
              confirmLabel={t('Take it away')}
              onConfirm={() => remove.mutateAsync({ accountId })}
            >
              {t('Take it away')}
            </ConfirmButton>
          )}
        </div>
      </Form>
      {asked && (
        <ConfirmDialog
          title={t('Replace {number}?', { number: of?.number ?? '' })}
          consequence={t('Messages that wait to leave from it fail, and are refunded.')}
          confirmLabel={t('Replace it')}
          // The form shows the error, so the dialog closes after a failure too.
          onConfirm={() => assign.mutateAsync({ accountId, ...asked }).catch(() => undefined)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </>
  );
}
