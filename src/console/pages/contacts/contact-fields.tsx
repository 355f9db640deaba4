import { t } from '../../lib/words.ts';
import { Field, TextArea } from '../../ui/field.tsx';
import { linesOf, textOf } from '../../ui/form.tsx';
import { AttributeFields, attributesOf } from './attribute-fields.tsx';
import type { ContactRowFragment, CreateContactInput } from './contacts.generated.ts';

/** The fields of a contact, for a new contact and for a change. */
export function ContactFields({ of }: { of?: ContactRowFragment }) {
  return (
    <>
      <Field name="name" label={t('Name')} autoComplete="off" defaultValue={of?.name ?? ''} />
      <Field
        name="phone"
        label={t('Phone')}
        type="tel"
        autoComplete="off"
        hint={t('With the country code, such as +256700123456. One contact for each number.')}
        defaultValue={of?.phone ?? ''}
      />
      <Field name="email" label={t('Email')} type="email" autoComplete="off" defaultValue={of?.email ?? ''} />
      <Field
        name="externalId"
        label={t('External id')}
        hint={t('What your own system calls this person. One contact for each id.')}
        defaultValue={of?.externalId ?? ''}
      />
      <TextArea
        name="tags"
        label={t('Tags')}
        rows={3}
        hint={t('One a line.')}
        defaultValue={of?.tags.join('\n')}
      />
      <AttributeFields of={of?.attributes ?? {}} />
    </>
  );
}

/** Converts the form's values to the input of the API. `before` is the contact that filled the fields. */
export function contactOf(values: FormData, before?: ContactRowFragment): CreateContactInput {
  return {
    name: textOf(values, 'name') || null,
    phone: textOf(values, 'phone') || null,
    email: textOf(values, 'email') || null,
    externalId: textOf(values, 'externalId') || null,
    tags: linesOf(values, 'tags'),
    attributes: attributesOf(values, before?.attributes ?? {}),
  };
}
