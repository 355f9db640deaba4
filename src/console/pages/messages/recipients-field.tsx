import { useDeferredValue, useMemo } from 'react';
import { TextArea } from '../../ui/field.tsx';
import { counted } from './message-text.ts';

const INVALID_SHOWN = 5;

/**
 * Converts typed recipients, separated by lines, semicolons or commas, to a list separated by commas as the API expects
 * it.
 */
export function listOf(text: string): string {
  return text
    .split(/[\n;,]+/)
    .map((each) => each.trim())
    .filter((each) => each !== '')
    .join(', ');
}

export interface Understood {
  readonly valid: readonly string[];
  readonly invalid: readonly string[];
  readonly duplicatesRemoved: number;
}

/** Returns the parsed recipients of `text`. React computes them with low priority, so that typing stays fast. */
export function useUnderstood(text: string, parse: (list: string) => Understood): Understood {
  const later = useDeferredValue(text);
  return useMemo(() => parse(listOf(later)), [later, parse]);
}

/** The field for recipients. It shows the number of valid recipients and lists the invalid ones. */
export function RecipientsField({
  value,
  onChange,
  understood: { valid, invalid, duplicatesRemoved },
  noun,
  many = `${noun}s`,
  hint,
}: {
  value: string;
  onChange: (text: string) => void;
  understood: Understood;
  /** The noun for one recipient, such as `number` for a phone number. */
  noun: string;
  many?: string;
  hint: string;
}) {
  const notes = [
    `${counted(valid.length, noun, many)} understood`,
    ...(duplicatesRemoved > 0 ? [`${counted(duplicatesRemoved, 'duplicate')} removed`] : []),
  ];
  return (
    <div className="stack message-recipients-field">
      <TextArea
        name="to"
        label="To"
        hint={hint}
        rows={3}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      {value.trim() !== '' && <p className="field-hint">{notes.join(', ')}</p>}
      {invalid.length > 0 && (
        <p className="field-error">
          {counted(invalid.length, `invalid ${noun}`, `invalid ${many}`)} will be skipped:{' '}
          {invalid.slice(0, INVALID_SHOWN).join(', ')}
          {invalid.length > INVALID_SHOWN && ' and more'}
        </p>
      )}
    </div>
  );
}
