import { Fragment } from 'react';
import './changes.css';

type Values = Readonly<Record<string, unknown>> | null;

/** What an entry of the audit log changed, member by member: struck out as it was, then as it became. */
export function Changes({ before, after }: { before: Values; after: Values }) {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  const changed = names.filter((name) => textOf(before?.[name]) !== textOf(after?.[name]));
  if (changed.length === 0) return <span className="quiet">–</span>;
  return (
    <dl className="changes">
      {changed.map((name) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>
            {before && <Was text={textOf(before[name])} />}
            {before && after && <span aria-hidden="true"> → </span>}
            {after && <Became text={textOf(after[name])} />}
          </dd>
        </Fragment>
      ))}
    </dl>
  );
}

function Was({ text }: { text: string }) {
  return (
    <del>
      <span className="visually-hidden">was </span>
      {text}
    </del>
  );
}

function Became({ text }: { text: string }) {
  return (
    <ins>
      <span className="visually-hidden">became </span>
      {text}
    </ins>
  );
}

/** A value as people read it. */
function textOf(value: unknown): string {
  if (value === undefined || value === null || value === '') return 'nothing';
  if (Array.isArray(value)) return value.length === 0 ? 'nothing' : value.map(textOf).join(', ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
