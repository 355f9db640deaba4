import { useState } from 'react';
import { ApiError } from '../../lib/api-error.ts';
import { download } from '../../lib/csv.ts';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { request } from '../../lib/request.ts';
import { t } from '../../lib/words.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import type { Column } from '../../ui/data-table.tsx';
import { Dialog, DialogActions } from '../../ui/dialog.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { Form, textOf } from '../../ui/form.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { Notice } from '../../ui/notice.tsx';
import { PAGE_SIZE, PagedTable } from '../../ui/paged-table.tsx';
import { useAfter } from '../../ui/pager.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { useToast } from '../../ui/toast.tsx';
import { Time } from '../../ui/values.tsx';
import {
  type AddressKind,
  EraseRecipient,
  type ErasureRowFragment,
  Erasures,
  ExportRecipient,
  type ExportRecipientMutation,
} from './person.generated.ts';

const TITLE = t('Data of a person');
const KINDS: readonly { readonly value: AddressKind | ''; readonly label: string }[] = [
  { value: '', label: t('A phone number or email address') },
  { value: 'USER', label: t('The id of a user of push') },
];

const COLUMNS: readonly Column<ErasureRowFragment>[] = [
  { header: t('Asked'), cell: ({ createdAt }) => <Time at={createdAt} />, isWhole: true },
  { header: t('Done'), cell: ({ doneAt }) => <Time at={doneAt} otherwise={t('under way')} />, isWhole: true },
  { header: t('Reason'), cell: ({ reason }) => reason },
  { header: t('Messages'), cell: ({ erased }) => erased.messages, isNumber: true },
  { header: t('Contacts'), cell: ({ erased }) => erased.contacts, isNumber: true },
  { header: t('Opt-outs'), cell: ({ erased }) => erased.suppressions, isNumber: true },
  { header: t('Hash'), cell: ({ addressHash }) => <code>{addressHash}</code> },
  {
    header: t('Audit entries'),
    cell: ({ auditSequence, doneAuditSequence }) => `${auditSequence}, ${doneAuditSequence ?? '–'}`,
  },
];

interface Person {
  readonly address: string;
  readonly kind: AddressKind | null;
}

/** Exports and erases what is stored of one person, and lists the receipts of erasures. */
export default function PersonPage() {
  const erasures = useApiQuery(Erasures, { first: PAGE_SIZE, after: useAfter() }, { keepsLast: true });
  const [erased, setErased] = useState<Person>();
  const [isBusy, setIsBusy] = useState(false);
  const [fault, setFault] = useState<Error | null>(null);
  const exportAll = async (person: Person) => {
    if (person.address === '') return setFault(missingAddress());
    setIsBusy(true);
    setFault(null);
    try {
      await exportPerson(person);
    } catch (error) {
      setFault(error instanceof Error ? error : new Error(t('It did not work.')));
    }
    setIsBusy(false);
  };
  return (
    <>
      <PageHeader title={TITLE}>
        <ButtonLink href="/suppressions">{t('Opt-outs')}</ButtonLink>
      </PageHeader>
      <p className="quiet">
        {t(
          'Both environments are searched. If one contact has the address, its other addresses are searched too.',
        )}
      </p>
      <Form label={TITLE} error={fault} onSubmit={(values) => void exportAll(personOf(values))}>
        <Field name="address" label={t('Address')} autoComplete="off" />
        <Select name="kind" label={t('What it is')} options={KINDS} />
        <div className="row">
          <Button type="submit" isBusy={isBusy}>
            {t('Export what is stored')}
          </Button>
          <Button
            look="danger"
            onClick={({ currentTarget }) => {
              const form = currentTarget.closest('form');
              if (!form) return;
              const person = personOf(new FormData(form));
              setFault(person.address === '' ? missingAddress() : null);
              if (person.address !== '') setErased(person);
            }}
          >
            {t('Erase this person')}
          </Button>
        </div>
      </Form>
      {erased && <EraseDialog person={erased} onClose={() => setErased(undefined)} />}
      <Loaded query={erasures}>
        {(data) => (
          <PagedTable
            of={data.erasures}
            caption={t('The newest first')}
            columns={COLUMNS}
            keyOf={({ id }) => id}
            empty={<EmptyState title={t('Nobody was erased yet')} />}
          />
        )}
      </Loaded>
    </>
  );
}

function EraseDialog({ person, onClose }: { person: Person; onClose: () => void }) {
  const { address, kind } = person;
  const toast = useToast();
  const [isMistyped, setIsMistyped] = useState(false);
  const erase = useApiMutation(EraseRecipient, {
    refetches: [Erasures],
    onDone: () => {
      onClose();
      toast({ text: t('The person is being erased. The receipt is in the list.') });
    },
  });
  const submit = (values: FormData) => {
    const isRight = textOf(values, 'typed') === address;
    setIsMistyped(!isRight);
    if (isRight) erase.mutate({ address, kind, reason: textOf(values, 'reason') });
  };
  const title = t('Erase this person?');
  return (
    <Dialog title={title} onClose={onClose} mustAnswer={erase.isPending}>
      <p>
        {t(
          'Texts and addresses leave messages, events, contacts, devices, imports and logs, and nobody can bring them back. Costs and counts stay, and an opt-out stays as a hash.',
        )}
      </p>
      <Form label={title} error={erase.error} onSubmit={submit}>
        {isMistyped && <Notice tone="bad">{t('Type {address} exactly as it is here.', { address })}</Notice>}
        <Field
          name="reason"
          label={t('Reason')}
          autoComplete="off"
          hint={t('It stays, so do not name the person.')}
        />
        <Field name="typed" label={t('Type {address} to confirm', { address })} autoComplete="off" />
        <DialogActions>
          <Button onClick={() => erase.isPending || onClose()}>{t('Cancel')}</Button>
          <Button type="submit" look="danger" isBusy={erase.isPending}>
            {t('Erase')}
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  );
}

/** Downloads all parts of an export as one JSON file. */
async function exportPerson({ address, kind }: Person): Promise<void> {
  type Part = ExportRecipientMutation['exportRecipient'];
  const parts: object[] = [];
  let after: string | null = null;
  do {
    const answer = await request(ExportRecipient, { address, kind, after });
    const part: Part = answer.exportRecipient;
    parts.push(part.recipient);
    after = part.nextAfter;
  } while (after !== null);
  const name = `person-${new Date().toISOString().slice(0, 10)}.json`;
  download(name, 'application/json', [JSON.stringify(parts, null, 2)]);
}

/** The fault of a form without an address. The page finds it, because only the API call of an erasure would. */
function missingAddress(): ApiError {
  const fields = [
    { path: 'address', message: t('Give a phone number, an email address or the id of a user.') },
  ];
  return new ApiError('BAD_USER_INPUT', t('Not complete.'), { fields });
}

function personOf(values: FormData): Person {
  return { address: textOf(values, 'address'), kind: textOf(values, 'kind') === 'USER' ? 'USER' : null };
}
