import {
  DEFAULT_MAX_RETRIES,
  MAX_RETRIES_LIMIT,
  RETRY_DELAYS_SECONDS,
} from '../../../domain/webhooks/webhook.ts';
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
  label: count === 0 ? 'None: one attempt' : `${count}: after ${pauses(count)}`,
}));

function pauses(count: number): string {
  return `${RETRY_DELAYS_SECONDS.slice(0, count)
    .join(', ')
    .replace(/, (?=\d+$)/, ' and ')} seconds`;
}

/** The fields of a webhook, for a new webhook and for a change. */
export function WebhookFields({ of, eventTypes }: { of?: WebhookProperties; eventTypes: EventTypeList }) {
  return (
    <>
      <Field
        name="url"
        label="URL"
        type="url"
        inputMode="url"
        autoComplete="off"
        placeholder="https://example.com/webhooks"
        hint="HTTPS, at a name that resolves to public addresses. Events are posted there as JSON."
        defaultValue={of?.url}
      />
      <CheckboxGroup
        name="events"
        label="Events"
        hint="The events that it receives."
        options={eventTypes.map(({ event, description }) => ({
          value: event,
          label: event,
          hint: description,
        }))}
        chosen={of?.events ?? []}
      />
      <Field
        name="description"
        label="Description"
        hint="What it is for. May be empty."
        defaultValue={of?.description ?? ''}
      />
      <Select
        name="maxRetries"
        label="Retries"
        hint="When an attempt fails: an answer other than 2xx, or none within 10 seconds."
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
