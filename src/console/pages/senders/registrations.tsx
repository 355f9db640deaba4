import { useRef, useState } from 'react';
import { formatName } from '../../lib/format.ts';
import { useApiMutation } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Form, useFieldFault } from '../../ui/form.tsx';
import { useToast } from '../../ui/toast.tsx';
import {
  SenderDetail,
  type SenderRowFragment,
  type SenderStatus,
  Senders,
  SetSenderRegistrations,
} from './senders.generated.ts';
import './senders.css';

type Registration = SenderRowFragment['registrations'][number];

const STATUSES: readonly SenderStatus[] = ['PENDING', 'APPROVED', 'REJECTED'];
const COLUMNS: readonly Column<Registration>[] = [
  { header: t('Network'), cell: ({ network }) => network },
  { header: t('Status'), cell: ({ status }) => <Badge status={status} /> },
  {
    header: t('Reference'),
    cell: ({ reference }) => reference ?? <span className="quiet">{t('none')}</span>,
  },
];

/** The state of a sender ID at each network that registers sender IDs itself. */
export function Registrations({ of }: { of: readonly Registration[] }) {
  return (
    <section className="card stack" aria-labelledby="networks">
      <h2 id="networks">{t('Networks')}</h2>
      {of.length === 0 ? (
        <p className="quiet">{t('The operator has noted no registration at a network.')}</p>
      ) : (
        <DataTable
          caption={t('Networks that register sender IDs themselves')}
          columns={COLUMNS}
          rows={of}
          keyOf={({ network }) => network}
        />
      )}
    </section>
  );
}

/** For operators: replaces the registrations of a sender ID. */
export function RegistrationForm({ of: { id, registrations } }: { of: SenderRowFragment }) {
  const toast = useToast();
  const set = useApiMutation(SetSenderRegistrations, {
    refetches: [SenderDetail, Senders],
    onDone: () => toast({ text: t('The registrations are saved.') }),
  });
  return (
    <section className="card stack" aria-labelledby="networks">
      <h2 id="networks">{t('Networks')}</h2>
      <Form
        label={t('Registrations at networks')}
        error={set.error}
        onSubmit={(values) => set.mutate({ id, registrations: registrationsOf(values) })}
      >
        <RegistrationRows of={registrations} />
        <div className="row">
          <Button type="submit" look="primary" isBusy={set.isPending}>
            {t('Save the registrations')}
          </Button>
        </div>
      </Form>
    </section>
  );
}

/** One row of fields for each network. */
function RegistrationRows({ of }: { of: readonly Registration[] }) {
  const [rows, setRows] = useState(() => of.map((registration, id) => ({ id, ...registration })));
  const nextId = useRef(rows.length);
  const fault = useFieldFault('registrations');
  const add = () => {
    setRows([...rows, { id: nextId.current, network: '', status: 'PENDING', reference: null }]);
    nextId.current += 1;
  };
  return (
    // The name lets the form show the API's errors here. A fieldset itself has no value.
    <fieldset className="field" name="registrations" tabIndex={-1}>
      <legend>{t('Registrations')}</legend>
      <span className="field-hint">
        {t('The account sees them. A row without a network is left out. At most 20.')}
      </span>
      {rows.map(({ id, network, status, reference }, index) => (
        <div className="registration" key={id}>
          <input
            className="input"
            name="network"
            aria-label={t('Network {index}', { index: index + 1 })}
            placeholder="MTN UG"
            defaultValue={network}
          />
          <select
            className="input"
            name="networkStatus"
            aria-label={t('Status at network {index}', { index: index + 1 })}
            defaultValue={status}
          >
            {STATUSES.map((each) => (
              <option key={each} value={each}>
                {formatName(each)}
              </option>
            ))}
          </select>
          <input
            className="input"
            name="reference"
            aria-label={t('Reference of network {index}', { index: index + 1 })}
            placeholder={t('Reference')}
            defaultValue={reference ?? ''}
          />
          <Button
            look="quiet"
            aria-label={t('Remove network {index}', { index: index + 1 })}
            onClick={() => setRows(rows.filter((row) => row.id !== id))}
          >
            ✕
          </Button>
        </div>
      ))}
      <div className="row">
        <Button onClick={add}>{t('Add a network')}</Button>
      </div>
      {fault && <span className="field-error">{fault}</span>}
    </fieldset>
  );
}

function registrationsOf(values: FormData): Registration[] {
  const textsOf = (name: string) => values.getAll(name).map((text) => String(text).trim());
  const [statuses, references] = [textsOf('networkStatus'), textsOf('reference')];
  return textsOf('network')
    .map((network, index) => ({
      network,
      status: STATUSES.find((each) => each === statuses[index]) ?? 'PENDING',
      reference: references[index] || null,
    }))
    .filter(({ network }) => network !== '');
}
