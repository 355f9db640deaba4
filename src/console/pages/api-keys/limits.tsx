import { useApiMutation } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/field.tsx';
import { Form, textOf } from '../../ui/form.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { useToast } from '../../ui/toast.tsx';
import { SetRateLimit } from './api-keys.generated.ts';

const limitOf = (values: FormData, name: string) => {
  const text = textOf(values, name);
  return text === '' ? null : Number(text);
};

/** For operators: sets the rate limits of any account's API key. */
export default function KeyLimitsPage() {
  const toast = useToast();
  const set = useApiMutation(SetRateLimit, {
    onDone: ({ setRateLimit: { name } }) => toast({ text: t('The limits of “{name}” are set.', { name }) }),
  });
  return (
    <>
      <PageHeader title={t('Limits of a key')} />
      <p>{t("An API key goes by the limits of its account's plan, unless it has its own.")}</p>
      <Form
        label={t('Limits of a key')}
        error={set.error}
        onSubmit={(values) =>
          set.mutate({
            keyId: textOf(values, 'keyId'),
            perMinute: limitOf(values, 'perMinute'),
            perSecond: limitOf(values, 'perSecond'),
          })
        }
      >
        <Field name="keyId" label={t('Key id')} hint={t("The account reads it on the key's page.")} />
        <Field
          name="perMinute"
          label={t('Requests per minute')}
          type="number"
          min={1}
          hint={t('Empty: what the plan says.')}
        />
        <Field
          name="perSecond"
          label={t('Requests per second')}
          type="number"
          min={0}
          hint={t('Empty: what the plan says. 0: no such limit.')}
        />
        <div className="row">
          <Button type="submit" look="primary" isBusy={set.isPending}>
            {t('Set the limits')}
          </Button>
        </div>
      </Form>
    </>
  );
}
