import { useApiMutation } from '../../lib/queries.ts';
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
    onDone: ({ setRateLimit: { name } }) => toast({ text: `The limits of “${name}” are set.` }),
  });
  return (
    <>
      <PageHeader title="Limits of a key" />
      <p>An API key goes by the limits of its account's plan, unless it has its own.</p>
      <Form
        label="Limits of a key"
        error={set.error}
        onSubmit={(values) =>
          set.mutate({
            keyId: textOf(values, 'keyId'),
            perMinute: limitOf(values, 'perMinute'),
            perSecond: limitOf(values, 'perSecond'),
          })
        }
      >
        <Field name="keyId" label="Key id" hint="The account reads it on the key's page." />
        <Field
          name="perMinute"
          label="Requests per minute"
          type="number"
          min={1}
          hint="Empty: what the plan says."
        />
        <Field
          name="perSecond"
          label="Requests per second"
          type="number"
          min={0}
          hint="Empty: what the plan says. 0: no such limit."
        />
        <div className="row">
          <Button type="submit" look="primary" isBusy={set.isPending}>
            Set the limits
          </Button>
        </div>
      </Form>
    </>
  );
}
