import { useLocation } from 'wouter';
import { useApiMutation } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Field } from '../../ui/field.tsx';
import { Form, textOf } from '../../ui/form.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { PasswordDialog } from '../../ui/password-dialog.tsx';
import { Accounts, CreateAccount } from './operator.generated.ts';

/** For operators: creates an account and its owner, and shows the owner's one-time password. */
export default function CreateAccountPage() {
  const [, navigate] = useLocation();
  const create = useApiMutation(CreateAccount, { refetches: [Accounts] });
  const created = create.data?.createAccount;
  return (
    <>
      <PageHeader title={t('New account')} />
      <Form
        label={t('New account')}
        error={create.error}
        onSubmit={(values) =>
          create.mutate({
            input: {
              email: textOf(values, 'email'),
              name: textOf(values, 'name') || null,
              currency: textOf(values, 'currency').toUpperCase(),
              balance: Number(textOf(values, 'balance') || 0),
            },
          })
        }
      >
        <Field
          name="email"
          label={t('Email of the owner')}
          type="email"
          autoComplete="off"
          hint={t('The owner signs in with it.')}
        />
        <Field name="name" label={t('Name')} autoComplete="off" hint={t('Empty: the email address.')} />
        <Field
          name="currency"
          label={t('Currency')}
          autoComplete="off"
          maxLength={3}
          hint={t('Three letters, such as UGX. It cannot be changed later.')}
        />
        <Field
          name="balance"
          label={t('Opening balance')}
          type="number"
          min={0}
          step="any"
          hint={t('In the currency. Empty: 0.')}
        />
        <div className="row">
          <Button type="submit" look="primary" isBusy={create.isPending}>
            {t('Create account')}
          </Button>
          <ButtonLink href="/accounts">{t('Cancel')}</ButtonLink>
        </div>
      </Form>
      {created && (
        <PasswordDialog
          title={t('{name} is created', { name: created.name })}
          email={created.email}
          password={created.ownerPassword ?? ''}
          onClose={() => navigate(`/accounts/${created.id}`)}
        />
      )}
    </>
  );
}
