import { createContext, type ReactNode, useContext, useEffect, useRef, useState } from 'react';
import { ApiError, type FieldFault } from '../lib/api-error.ts';
import { Notice } from './notice.tsx';
import './form.css';

const FaultsContext = createContext<readonly FieldFault[]>([]);

/** The part of a path that names a field: the API says `input.name` or `name`, and `ipAllowlist.0` for a line. */
const fieldOf = (path: string) => path.replace(/^input\./, '').split('.')[0];

/** What the API said about the field `name`, if anything. */
export function useFieldFault(name: string): string | undefined {
  const faults = useContext(FaultsContext).filter(({ path }) => fieldOf(path) === name);
  return faults.length === 0 ? undefined : faults.map(({ message }) => message).join('; ');
}

/**
 * A form whose fields are checked by the API: what it says of a field stands at the field, the rest above. The first
 * bad field gets the focus, and what was typed stays.
 */
export function Form({
  error,
  onSubmit,
  label,
  children,
}: {
  error?: Error | null;
  onSubmit: (values: FormData) => void;
  /** Name of the form for screen readers. */
  label: string;
  children: ReactNode;
}) {
  const form = useRef<HTMLFormElement>(null);
  const [general, setGeneral] = useState<string>();
  const faults = error instanceof ApiError ? error.fields : [];
  useEffect(() => {
    const fields = error instanceof ApiError ? error.fields : [];
    const inputs = [...(form.current?.elements ?? [])].filter((each) => each.hasAttribute('name'));
    const isOf = (input: Element, { path }: FieldFault) => input.getAttribute('name') === fieldOf(path);
    const isShown = fields.length > 0 && fields.every((fault) => inputs.some((each) => isOf(each, fault)));
    setGeneral(error && !isShown ? error.message : undefined);
    const firstBad = inputs.find((input) => fields.some((fault) => isOf(input, fault)));
    if (firstBad instanceof HTMLElement) firstBad.focus();
  }, [error]);
  return (
    <form
      ref={form}
      className="form"
      aria-label={label}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit(new FormData(event.currentTarget));
      }}
    >
      {general && <Notice tone="bad">{general}</Notice>}
      <FaultsContext value={faults}>{children}</FaultsContext>
    </form>
  );
}

/** The text of a field, trimmed. */
export function textOf(values: FormData, name: string): string {
  return String(values.get(name) ?? '').trim();
}

/** The lines of a field that are not empty. */
export function linesOf(values: FormData, name: string): string[] {
  return textOf(values, name)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** The time of a `datetime-local` field, in the reader's zone, as ISO 8601; null when it is empty. */
export function timeOf(values: FormData, name: string): string | null {
  const text = textOf(values, name);
  return text === '' ? null : new Date(text).toISOString();
}

/** An ISO time as a `datetime-local` field takes it, in the reader's zone. */
export function localTime(iso: string | null): string {
  if (iso === null) return '';
  const at = new Date(iso);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
