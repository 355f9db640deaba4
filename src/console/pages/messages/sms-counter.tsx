import { useDeferredValue } from 'react';
import { describeText, unicodeCharacters } from '../../../domain/messages/sms-text.ts';
import { counted } from '../../lib/counts.ts';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { T } from '../../ui/t.tsx';
import { type Offender, offendersIn, piecesOf, withTwins } from './gsm-twins.ts';

const MAX_LENGTH = 1_000;

/**
 * Shows encoding, segments and billing units while the person types. It also shows the characters that force UCS-2, and
 * so more segments.
 */
export function SmsCounter({ text, onReplace }: { text: string; onReplace: (text: string) => void }) {
  const { encoding, segments, billingUnits, length } = describeText(text);
  return (
    <div className="sms-counter stack">
      <p className="sms-figures">
        <span>
          <strong>{encoding}</strong>
        </span>
        <span className={length > MAX_LENGTH ? 'field-error' : ''}>
          <T text="{length} of {max} characters" length={length} max={MAX_LENGTH} />
        </span>
        <span>{counted(segments, 'segment')}</span>
        <span>{counted(billingUnits, 'billingUnit')}</span>
      </p>
      {encoding === 'UCS-2' && <Offenders text={text} onReplace={onReplace} />}
    </div>
  );
}

function Offenders({ text, onReplace }: { text: string; onReplace: (text: string) => void }) {
  const offenders = offendersIn(unicodeCharacters(text));
  const twins = offenders.filter(({ twin }) => twin !== undefined);
  const shown = useDeferredValue(text);
  return (
    <section className="sms-offenders stack" aria-label={t('Characters that GSM-7 lacks')}>
      <p>
        {t(
          'GSM-7 lacks the marked characters, so the text travels as UCS-2: a single segment holds 70 characters instead of 160. The price counts units of 160 characters either way.',
        )}
      </p>
      <p className="sms-preview">
        {piecesOf(shown).map(({ text: piece, index, isOffender }) =>
          isOffender ? <mark key={index}>{piece}</mark> : <span key={index}>{piece}</span>,
        )}
      </p>
      <ul className="sms-offender-list">
        {offenders.map((offender) => (
          <li key={offender.char} className="row">
            <span>
              <mark>{visible(offender.char)}</mark>{' '}
              <span className="quiet">
                {codePointOf(offender.char)}, {counted(offender.count, 'time')}
              </span>
            </span>
            {offender.twin === undefined ? (
              <span className="quiet">{t('has no obvious twin')}</span>
            ) : (
              <Button onClick={() => onReplace(withTwins(text, offender.char))}>
                {replacementOf(offender)}
              </Button>
            )}
          </li>
        ))}
      </ul>
      {twins.length > 1 && (
        <div className="row">
          <Button onClick={() => onReplace(withTwins(text))}>
            <T text="Replace all {count} kinds" count={twins.length} />
          </Button>
        </div>
      )}
    </section>
  );
}

function replacementOf({ char, twin }: Offender): string {
  if (twin === '') return t('Remove {character}', { character: codePointOf(char) });
  return t('Replace {character} with {twin}', {
    character: visible(char),
    twin: twin === ' ' ? t('a space') : (twin ?? ''),
  });
}

function codePointOf(char: string): string {
  return `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

/** Shows an invisible character as its code point. */
function visible(char: string): string {
  return /^[\p{Z}\p{C}]$/u.test(char) ? codePointOf(char) : char;
}
