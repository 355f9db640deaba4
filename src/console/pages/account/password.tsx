import { useLocation } from 'wouter';
import { useApiMutation } from '../../lib/queries.ts';
import { ChangePassword, Session } from '../../lib/session.generated.ts';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { useToast } from '../../ui/toast.tsx';

/** Changes the password of the signed-in person. */
export default function PasswordPage() {
  const toast = useToast();
  const [, navigate] = useLocation();
  const change = useApiMutation(ChangePassword, {
    refetches: [Session],
    onDone: () => {
      toast({ text: t('Your password is changed.') });
      navigate('/');
    },
  });
  return (
    <>
      <PageHeader title={t('Change password')} />
      <Form
        label={t('Change password')}
        error={change.error}
        onSubmit={(values) =>
          change.mutate({ current: String(values.get('current')), new: String(values.get('new')) })
        }
      >
        <Field name="current" label={t('Current password')} type="password" autoComplete="current-password" />
        <Field
          name="new"
          label={t('New password')}
          type="password"
          autoComplete="new-password"
          hint={t('12 characters or more. Every other session of yours ends.')}
        />
        <div className="row">
          <Button type="submit" look="primary" isBusy={change.isPending}>
            {t('Change password')}
          </Button>
        </div>
      </Form>
    </>
  );
}
