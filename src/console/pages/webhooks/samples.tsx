import { useState } from 'react';
import { t } from '../../lib/words.ts';
import { CodeBlock } from '../../ui/code.tsx';
import { Select } from '../../ui/field.tsx';
import type { EventTypeList } from './webhook-fields.tsx';

/** Shows a sample envelope for the chosen event type. */
export function Samples({ of: eventTypes }: { of: EventTypeList }) {
  const [event, setEvent] = useState(eventTypes[0]?.event);
  const shown = eventTypes.find((each) => each.event === event);
  if (!shown) return null;
  return (
    <section className="card stack" aria-labelledby="samples">
      <h2 id="samples">{t('What arrives')}</h2>
      <Select
        name="sample"
        label={t('Sample of')}
        options={eventTypes.map((each) => ({ value: each.event, label: each.event }))}
        value={event}
        onChange={({ target }) => setEvent(target.value)}
      />
      <CodeBlock
        text={JSON.stringify(shown.sample, null, 2)}
        label={t('sample of {event}', { event: shown.event })}
      />
    </section>
  );
}
