import { useRef, useState } from 'react';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import './attribute-fields.css';

type Attributes = Readonly<Record<string, unknown>>;

/** Converts an attribute's value to the text of its field: a string stays as it is, other types become JSON. */
export const textOfValue = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value);

/** The fields for a contact's attributes, one row with name and value for each attribute. */
export function AttributeFields({ of }: { of: Attributes }) {
  const [rows, setRows] = useState(() =>
    Object.entries(of).map(([name, value], id) => ({ id, name, value: textOfValue(value) })),
  );
  const nextId = useRef(rows.length);
  const add = () => {
    setRows([...rows, { id: nextId.current, name: '', value: '' }]);
    nextId.current += 1;
  };
  return (
    <fieldset className="field">
      <legend>{t('Attributes')}</legend>
      <span className="field-hint">
        {t('Whatever else you want to remember, such as a city. A row without a name is left out.')}
      </span>
      {rows.map(({ id, name, value }, index) => (
        <div className="attribute" key={id}>
          <input
            className="input"
            name="attributeName"
            aria-label={t('Name of attribute {index}', { index: index + 1 })}
            defaultValue={name}
          />
          <input
            className="input"
            name="attributeValue"
            aria-label={t('Value of attribute {index}', { index: index + 1 })}
            defaultValue={value}
          />
          <Button
            look="quiet"
            aria-label={t('Remove attribute {index}', { index: index + 1 })}
            onClick={() => setRows(rows.filter((row) => row.id !== id))}
          >
            ✕
          </Button>
        </div>
      ))}
      <div className="row">
        <Button onClick={add}>{t('Add an attribute')}</Button>
      </div>
    </fieldset>
  );
}

/**
 * Converts the form's fields to attributes. A new value is a string. A value that was not a string in `before` is
 * parsed as JSON. If that fails, it becomes a string.
 */
export function attributesOf(values: FormData, before: Attributes): Record<string, unknown> {
  const texts = values.getAll('attributeValue').map(String);
  const names = values.getAll('attributeName').map((name) => String(name).trim());
  const entries = names.map((name, index) => [name, restored(texts[index] ?? '', before[name])] as const);
  return Object.fromEntries(entries.filter(([name]) => name !== ''));
}

function restored(text: string, before: unknown): unknown {
  if (before === undefined || typeof before === 'string') return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
