import {
  DEFAULT_MAX_RETRIES,
  MAX_RETRIES_LIMIT,
  RETRY_DELAYS_SECONDS,
} from '../../../domain/webhooks/webhook.ts';
import { formatList, formatNumber } from '../../lib/format.ts';
import { t } from '../../lib/words.ts';
import { WithCode } from '../../ui/code.tsx';
import { CheckboxGroup, Field, Select } from '../../ui/field.tsx';
import { textOf } from '../../ui/form.tsx';
import type { EventTypesQuery } from './webhooks.generated.ts';

export type EventTypeList = NonNullable<EventTypesQuery['eventTypes']>;

export interface WebhookProperties {
  readonly url: string;
  readonly events: readonly string[];
  readonly description: string | null;
  readonly maxRetries: number;
}

const RETRIES = Array.from({ length: MAX_RETRIES_LIMIT + 1 }, (_, count) => ({
  value: String(count),
  label:
    count === 0 ? t('None: one attempt') : t('{count}: after {pauses}', { count, pauses: pauses(count) }),
}));

function pauses(count: number): string {
  return t('{seconds} seconds', {
    seconds: formatList(RETRY_DELAYS_SECONDS.slice(0, count).map((each) => formatNumber(each))),
  });
}

/** The fields of a webhook, for a new webhook and for a change. */
export function WebhookFields({ of, eventTypes }: { of?: WebhookProperties; eventTypes: EventTypeList }) {
  return (
    <>
      <Field
        name="url"
        label={t('URL')}
        type="url"
        inputMode="url"
        autoComplete="off"
        placeholder="https://example.com/webhooks"
        hint={t('HTTPS, at a name that resolves to public addresses. Events are posted there as JSON.')}
        defaultValue={of?.url}
      />
      <CheckboxGroup
        name="events"
        label={t('Events')}
        hint={t('The events that it receives.')}
        options={eventTypes.map(({ event, description }) => ({
          value: event,
          label: event,
          hint: <WithCode text={description} />,
        }))}
        chosen={of?.events ?? []}
      />
      <Field
        name="description"
        label={t('Description')}
        hint={t('What it is for. May be empty.')}
        defaultValue={of?.description ?? ''}
      />
      <Select
        name="maxRetries"
        label={t('Retries')}
        hint={t('When an attempt fails: an answer other than 2xx, or none within 10 seconds.')}
        options={RETRIES}
        defaultValue={String(of?.maxRetries ?? DEFAULT_MAX_RETRIES)}
      />
    </>
  );
}

/** Converts the form's values to the input of the API. */
export function webhookPropertiesOf(values: FormData): WebhookProperties {
  return {
    url: textOf(values, 'url'),
    events: values.getAll('events').map(String),
    description: textOf(values, 'description') || null,
    maxRetries: Number(textOf(values, 'maxRetries')),
  };
}
