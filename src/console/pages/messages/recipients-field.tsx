import { useDeferredValue, useMemo } from 'react';
import { t } from '../../lib/words.ts';
import { TextArea } from '../../ui/field.tsx';

const INVALID_SHOWN = 5;

/** How many recipients are understood or not, by what a recipient is. */
const NOTES = {
  number: {
    valid: (count: number) =>
      t('{count, plural, one {# number understood} other {# numbers understood}}', { count }),
    invalid: (count: number, list: string) =>
      t('{count, plural, one {# invalid number} other {# invalid numbers}} will be skipped: {list}', {
        count,
        list,
      }),
  },
  address: {
    valid: (count: number) =>
      t('{count, plural, one {# address understood} other {# addresses understood}}', { count }),
    invalid: (count: number, list: string) =>
      t('{count, plural, one {# invalid address} other {# invalid addresses}} will be skipped: {list}', {
        count,
        list,
      }),
  },
  user: {
    valid: (count: number) =>
      t('{count, plural, one {# user understood} other {# users understood}}', { count }),
    invalid: (count: number, list: string) =>
      t('{count, plural, one {# invalid user} other {# invalid users}} will be skipped: {list}', {
        count,
        list,
      }),
  },
} as const;

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
  hint,
}: {
  value: string;
  onChange: (text: string) => void;
  understood: Understood;
  /** What a recipient is. */
  noun: keyof typeof NOTES;
  hint: string;
}) {
  const shown = invalid.slice(0, INVALID_SHOWN).join(', ');
  const notes = [
    NOTES[noun].valid(valid.length),
    ...(duplicatesRemoved > 0
      ? [
          t('{count, plural, one {# duplicate removed} other {# duplicates removed}}', {
            count: duplicatesRemoved,
          }),
        ]
      : []),
  ];
  return (
    <div className="stack message-recipients-field">
      <TextArea
        name="to"
        label={t('To')}
        hint={hint}
        rows={3}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      {value.trim() !== '' && <p className="field-hint">{notes.join(', ')}</p>}
      {invalid.length > 0 && (
        <p className="field-error">
          {NOTES[noun].invalid(
            invalid.length,
            invalid.length > INVALID_SHOWN ? t('{list} and more', { list: shown }) : shown,
          )}
        </p>
      )}
    </div>
  );
}
