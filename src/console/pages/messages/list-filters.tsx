import { type FormEvent, useEffect, useState } from 'react';
import { isoOf, localTime } from '../../lib/local-time.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { usePermission } from '../../lib/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { type ListState, PAGE_SIZES } from './list-state.ts';
import { CHANNEL_NAMES, ENVIRONMENT_NAMES, optionsOf, STATUS_NAMES } from './message-text.ts';
import { MessageKeys } from './messages.generated.ts';

const any = (label: string) => ({ value: '', label });
const SIZES = PAGE_SIZES.map((size) => ({ value: size === 20 ? '' : String(size), label: String(size) }));

/** The filters of the list of messages. A select applies at once, typed values apply on submit. */
export function ListFilters({
  state,
  isFiltered,
  onChange,
}: {
  state: ListState;
  isFiltered: boolean;
  onChange: (next: Partial<ListState>) => void;
}) {
  const shown = {
    search: state.search,
    from: localTime(state.from),
    to: localTime(state.to),
  };
  const [typed, setTyped] = useState(shown);
  const { search, from, to } = shown;
  // The URL can change without this form, by the browser's back button for example. The fields must follow it.
  useEffect(() => setTyped({ search, from, to }), [search, from, to]);
  const mayListKeys = usePermission('apiKey.list');
  const keys = useApiQuery(MessageKeys, {}, { isEnabled: mayListKeys }).data?.apiKeys ?? [];
  const choose = (name: keyof ListState) => ({
    name,
    value: state[name],
    onChange: ({ currentTarget }: FormEvent<HTMLSelectElement>) => onChange({ [name]: currentTarget.value }),
  });
  const type = (name: keyof typeof typed) => ({
    name,
    value: typed[name],
    onChange: ({ currentTarget }: FormEvent<HTMLInputElement>) =>
      setTyped({ ...typed, [name]: currentTarget.value }),
  });
  return (
    <search>
      <Form
        className="message-filters card"
        label="Filter the messages"
        onSubmit={() =>
          onChange({
            search: typed.search.trim(),
            from: isoOf(typed.from) ?? '',
            to: isoOf(typed.to) ?? '',
          })
        }
      >
        <div className="message-filter-wide">
          <Field {...type('search')} label="Search" type="search" placeholder="Text, sender or recipient" />
        </div>
        <Select {...choose('channel')} label="Channel" options={[any('All'), ...optionsOf(CHANNEL_NAMES)]} />
        <Select {...choose('status')} label="Status" options={[any('All'), ...optionsOf(STATUS_NAMES)]} />
        <Select
          {...choose('environment')}
          label="Environment"
          options={[any('Both'), ...optionsOf(ENVIRONMENT_NAMES)]}
        />
        {mayListKeys && (
          <Select
            {...choose('key')}
            label="API key"
            options={[any('All'), ...keys.map(({ keyId, name }) => ({ value: keyId, label: name }))]}
          />
        )}
        <Select {...choose('size')} label="Rows" options={SIZES} />
        <div className="message-filter-wide">
          <Field {...type('from')} label="From" type="datetime-local" />
        </div>
        <div className="message-filter-wide">
          <Field {...type('to')} label="To" type="datetime-local" />
        </div>
        <div className="row message-filter-wide message-filters-actions">
          <Button type="submit">Search</Button>
          {isFiltered && (
            <Button
              look="quiet"
              onClick={() =>
                onChange({ channel: '', status: '', environment: '', key: '', from: '', to: '', search: '' })
              }
            >
              Clear filters
            </Button>
          )}
        </div>
      </Form>
    </search>
  );
}
