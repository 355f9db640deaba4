import { type FormEvent, useEffect, useState } from 'react';
import { isoOf, localTime } from '../../lib/local-time.ts';
import { useApiQuery, useIsAnswered } from '../../lib/queries.ts';
import { usePermission } from '../../lib/session.tsx';
import { PRESETS } from '../../lib/spans.ts';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { type ListState, PAGE_SIZES } from './list-state.ts';
import { CHANNEL_NAMES, ENVIRONMENT_NAMES, optionsOf, STATUS_NAMES } from './message-text.ts';
import { MessageKeys, MessageRecipients, Messages } from './messages.generated.ts';

const any = (label: string) => ({ value: '', label });
/** The period whose bounds the person types. */
const CUSTOM = 'custom';
const NO_FILTERS: Partial<ListState> = {
  channel: '',
  status: '',
  environment: '',
  key: '',
  sender: '',
  period: '',
  from: '',
  to: '',
  search: '',
};
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
    sender: state.sender,
    from: localTime(state.from),
    to: localTime(state.to),
  };
  const [typed, setTyped] = useState(shown);
  const { search, sender, from, to } = shown;
  // The URL can change without this form, by the browser's back button for example. The fields must follow it.
  useEffect(() => setTyped({ search, sender, from, to }), [search, sender, from, to]);
  const isCustom = state.period === CUSTOM || (state.period === '' && (from !== '' || to !== ''));
  const mayListKeys = usePermission('apiKey.list');
  // After the rows: an account may have hundreds of keys, whose names would delay them on a slow line.
  const hasRows = useIsAnswered([Messages, MessageRecipients]);
  const keys = useApiQuery(MessageKeys, {}, { isEnabled: mayListKeys && hasRows }).data?.apiKeys ?? [];
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
        className="message-filters"
        label={t('Filter the messages')}
        onSubmit={() =>
          onChange({
            search: typed.search.trim(),
            sender: typed.sender.trim(),
            from: isoOf(typed.from) ?? '',
            to: isoOf(typed.to) ?? '',
          })
        }
      >
        <Field
          {...type('search')}
          label={t('Search')}
          type="search"
          placeholder={t('Number, text or sender')}
        />
        <Select
          {...choose('status')}
          label={t('Status')}
          options={[any(t('All')), ...optionsOf(STATUS_NAMES)]}
        />
        <Select
          {...choose('channel')}
          label={t('Channel')}
          options={[any(t('All')), ...optionsOf(CHANNEL_NAMES)]}
        />
        {mayListKeys && (
          <Select
            {...choose('key')}
            label={t('API key')}
            options={[any(t('All')), ...keys.map(({ keyId, name }) => ({ value: keyId, label: name }))]}
          />
        )}
        <Field {...type('sender')} label={t('Sender')} placeholder={t('Any')} />
        <Select
          {...choose('environment')}
          label={t('Environment')}
          options={[any(t('Both')), ...optionsOf(ENVIRONMENT_NAMES)]}
        />
        <Select
          {...choose('period')}
          value={isCustom ? CUSTOM : state.period}
          label={t('Period')}
          options={[any(t('Any time')), ...PRESETS, { value: CUSTOM, label: t('From … to') }]}
        />
        {isCustom && (
          <>
            <Field {...type('from')} label={t('From (time)')} type="datetime-local" />
            <Field {...type('to')} label={t('To (time)')} type="datetime-local" />
          </>
        )}
        <Select {...choose('size')} label={t('Rows')} options={SIZES} />
        <Button type="submit" look="quiet">
          {t('Search')}
        </Button>
        {isFiltered && (
          <Button look="quiet" onClick={() => onChange(NO_FILTERS)}>
            {t('Clear filters')}
          </Button>
        )}
      </Form>
    </search>
  );
}
