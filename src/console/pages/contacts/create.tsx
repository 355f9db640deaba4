import { useLocation } from 'wouter';
import { useEnvironment, useInEnvironment } from '../../lib/environment.ts';
import { useApiMutation } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Form } from '../../ui/form.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { useToast } from '../../ui/toast.tsx';
import { ContactFields, contactOf } from './contact-fields.tsx';
import { Contacts, CreateContact } from './contacts.generated.ts';

/** The page that adds a contact. */
export default function CreateContactPage() {
  const toast = useToast();
  const [, navigate] = useLocation();
  const environment = useEnvironment();
  const inEnvironment = useInEnvironment();
  const create = useApiMutation(CreateContact, {
    refetches: [Contacts],
    onDone: ({ createContact: { id } }) => {
      toast({ text: t('The contact is added.') });
      navigate(inEnvironment(`/contacts/${id}`));
    },
  });
  return (
    <>
      <PageHeader title={t('New contact')} />
      <p>{t('A phone, an email or an external id is needed; the rest is up to you.')}</p>
      <Form
        label={t('New contact')}
        error={create.error}
        onSubmit={(values) => create.mutate({ input: { ...contactOf(values), environment } })}
      >
        <ContactFields />
        <div className="row">
          <Button type="submit" look="primary" isBusy={create.isPending}>
            {t('Add the contact')}
          </Button>
          <ButtonLink href="/contacts">{t('Cancel')}</ButtonLink>
        </div>
      </Form>
    </>
  );
}
