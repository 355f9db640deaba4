import { useState } from 'react';
import { useLocation, useParams } from 'wouter';
import { useInEnvironment } from '../../lib/environment.ts';
import { formatName } from '../../lib/format.ts';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { usePermission, useViewer } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Id } from '../../ui/code.tsx';
import { ConfirmButton } from '../../ui/confirm-button.tsx';
import { Form } from '../../ui/form.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { Notice } from '../../ui/notice.tsx';
import { Loaded } from '../../ui/states.tsx';
import { T } from '../../ui/t.tsx';
import { useToast } from '../../ui/toast.tsx';
import { KeyValues, Time } from '../../ui/values.tsx';
import { textOfValue } from './attribute-fields.tsx';
import { ContactFields, contactOf } from './contact-fields.tsx';
import {
  ContactDetail,
  type ContactRowFragment,
  Contacts,
  DeleteContact,
  UpdateContact,
  type UpdateContactInput,
} from './contacts.generated.ts';
import { nameOf } from './name-of.ts';
import { Tags } from './tags.tsx';

/** The page of one contact: its values, and forms to change and delete it. */
export default function ContactPage() {
  const { id } = useParams<{ id: string }>();
  const query = useApiQuery(ContactDetail, { id });
  return <Loaded query={query}>{({ contact }) => <Contact of={contact} />}</Loaded>;
}

function Contact({ of }: { of: ContactRowFragment }) {
  const { role } = useViewer();
  const mayChange = usePermission('contact.update');
  const { save, error, isPending, version } = useSave(of);
  const attributes = Object.entries(of.attributes);
  const address = of.phone ?? of.email;
  return (
    <>
      <PageHeader title={nameOf(of)}>
        {address && (
          <ButtonLink href={`/messages?search=${encodeURIComponent(address)}`}>{t('Messages')}</ButtonLink>
        )}
        {mayChange && <Delete of={of} />}
      </PageHeader>
      {!mayChange && (
        <Notice>
          <T text="Your role, {role}, can read this contact, not change it." role={formatName(role)} />
        </Notice>
      )}
      <div className="columns">
        <section className="card stack" aria-labelledby="facts">
          <h2 id="facts">{t('The contact')}</h2>
          <KeyValues items={factsOf(of)} />
          {attributes.length > 0 && (
            <>
              <h3>{t('Attributes')}</h3>
              <KeyValues items={attributes.map(([name, value]) => [name, textOfValue(value)])} />
            </>
          )}
        </section>
        {mayChange && (
          <section className="card stack" aria-labelledby="edit">
            <h2 id="edit">{t('Edit')}</h2>
            <Form
              key={version}
              label={t('Change the contact')}
              error={error}
              onSubmit={(values) => save(contactOf(values, of))}
            >
              <ContactFields of={of} />
              <div className="row">
                <Button type="submit" look="primary" isBusy={isPending}>
                  {t('Save')}
                </Button>
              </div>
            </Form>
          </section>
        )}
      </div>
    </>
  );
}

/**
 * Saves the form and offers an undo. An undo increases `version`, so that the fields show the stored values. A save
 * does not increase it: the person may have typed more meanwhile.
 */
function useSave(of: ContactRowFragment) {
  const toast = useToast();
  const [version, setVersion] = useState(0);
  const update = useApiMutation(UpdateContact, { refetches: [ContactDetail, Contacts] });
  const save = (input: UpdateContactInput) => {
    const { name, phone, email, externalId, tags, attributes } = of;
    const before = { name, phone, email, externalId, tags, attributes };
    const undo = () =>
      update.mutateNext({ id: of.id, input: before }, { onSuccess: () => setVersion((last) => last + 1) });
    update.mutate({ id: of.id, input }, { onSuccess: () => toast({ text: t('Saved.'), undo }) });
  };
  return { save, error: update.error, isPending: update.isPending, version };
}

function factsOf(of: ContactRowFragment): Parameters<typeof KeyValues>[0]['items'] {
  const { name, phone, email, externalId, tags } = of;
  const known = [
    [t('Name'), name],
    [t('Phone'), phone],
    [t('Email'), email],
    [t('External id'), externalId],
  ] as const;
  return [
    ...known.flatMap(([label, value]) => (value === null ? [] : [[label, value] as const])),
    ...(tags.length === 0 ? [] : [[t('Tags'), <Tags key="tags" of={tags} />] as const]),
    [t('Environment'), formatName(of.environment)],
    [t('Added'), <Time key="added" at={of.createdAt} />],
    [t('Changed'), <Time key="changed" at={of.updatedAt} />],
    [t('Contact id'), <Id key="id" of={of.id} label={t('Contact id')} />],
  ];
}

function Delete({ of }: { of: ContactRowFragment }) {
  const toast = useToast();
  const [, navigate] = useLocation();
  const inEnvironment = useInEnvironment();
  const remove = useApiMutation(DeleteContact, {
    refetches: [Contacts],
    onDone: () => {
      toast({ text: t('{name} is deleted.', { name: nameOf(of) }) });
      navigate(inEnvironment('/contacts'));
    },
  });
  return (
    <ConfirmButton
      title={t('Delete {name}?', { name: nameOf(of) })}
      consequence={t(
        'The contact, its tags and its attributes are gone for good. Messages that were sent stay.',
      )}
      confirmLabel={t('Delete for good')}
      onConfirm={() => remove.mutateAsync({ id: of.id })}
    >
      {t('Delete')}
    </ConfirmButton>
  );
}
