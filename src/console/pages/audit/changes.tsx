import { Fragment } from 'react';
import { t } from '../../lib/words.ts';
import './changes.css';

type Values = Readonly<Record<string, unknown>> | null;

/**
 * Shows the fields that an audit entry changed. The old value of a field is struck through, and the new one follows.
 */
export function Changes({ before, after }: { before: Values; after: Values }) {
  const was = flattened(before);
  const became = flattened(after);
  const names = new Set([...was.keys(), ...became.keys()]);
  const changed = [...names].filter((name) => textOf(was.get(name)) !== textOf(became.get(name)));
  if (changed.length === 0) return <span className="quiet">–</span>;
  return (
    <dl className="changes">
      {changed.map((name) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>
            {before && <Was text={textOf(was.get(name))} />}
            {before && after && <span aria-hidden="true"> → </span>}
            {after && <Became text={textOf(became.get(name))} />}
          </dd>
        </Fragment>
      ))}
    </dl>
  );
}

function Was({ text }: { text: string }) {
  return (
    <del>
      <span className="visually-hidden">{t('was')} </span>
      {text}
    </del>
  );
}

function Became({ text }: { text: string }) {
  return (
    <ins>
      <span className="visually-hidden">{t('became')} </span>
      {text}
    </ins>
  );
}

/** Returns the fields of an object by name. The field of a nested object has a dotted name, such as `plan.name`. */
function flattened(values: Values): ReadonlyMap<string, unknown> {
  const entries = Object.entries(values ?? {}).flatMap(([name, value]) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.entries(value).map(([inner, held]) => [`${name}.${inner}`, held] as const)
      : [[name, value] as const],
  );
  return new Map(entries);
}

/** Formats a value as text. An empty value becomes `nothing`. */
function textOf(value: unknown): string {
  if (value === undefined || value === null || value === '') return t('nothing');
  if (Array.isArray(value)) return value.length === 0 ? t('nothing') : value.map(textOf).join(', ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
