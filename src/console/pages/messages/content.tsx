import { formatName } from '../../lib/format.ts';
import { t } from '../../lib/words.ts';
import { KeyValues } from '../../ui/values.tsx';
import type { Message } from './message-text.ts';

/** Shows the text of a message and the other fields of its channel. */
export function Content({ of: message }: { of: Message }) {
  const more = Object.entries(message.payload ?? {}).flatMap(([name, value]) => {
    const text = textOf(value);
    return text === '' || text === message.content ? [] : [[labelOf(name), text] as const];
  });
  return (
    <section className="card stack" aria-labelledby="message-content">
      <h2 id="message-content">{t('Content')}</h2>
      {message.content === '' ? (
        <p className="quiet">{t('The text is no longer kept.')}</p>
      ) : (
        <p className="message-content">{message.content}</p>
      )}
      {more.length > 0 && <KeyValues items={more} />}
    </section>
  );
}

/** Makes a label of a field's name: `replyTo` becomes `Reply to`. */
function labelOf(name: string): string {
  return formatName(name.replace(/[A-Z]/g, (letter) => `_${letter}`));
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value.join(', ');
  if (typeof value === 'object') return Object.keys(value).length === 0 ? '' : JSON.stringify(value);
  return String(value);
}
