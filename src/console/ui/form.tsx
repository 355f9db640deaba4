import {
  createContext,
  type FormEvent,
  type ReactNode,
  useContext,
  useEffect,
  useEffectEvent,
  useRef,
  useState,
} from 'react';
import { ApiError, type FieldFault } from '../lib/api-error.ts';
import { isoOf } from '../lib/local-time.ts';
import { t } from '../lib/words.ts';
import { Notice } from './notice.tsx';
import './form.css';

const FaultsContext = createContext<readonly FieldFault[]>([]);

/** Returns the form field that an error path names: `name` for `input.name`, `ipAllowlist` for `ipAllowlist.0`. */
const fieldOf = (path: string) => path.replace(/^input\./, '').split('.')[0];

/** Returns the API's error message for the field `name`, or undefined. */
export function useFieldFault(name: string): string | undefined {
  const faults = useContext(FaultsContext).filter(({ path }) => fieldOf(path) === name);
  return faults.length === 0 ? undefined : faults.map(({ message }) => message).join('; ');
}

/**
 * Returns an error message if `input` holds an unparseable number or an incomplete time, else undefined. The browser
 * gives most such values as empty.
 */
function unreadableOf(input: Element): string | undefined {
  if (!(input instanceof HTMLInputElement)) return undefined;
  const { type, value, validity } = input;
  if (type === 'number') return validity.badInput ? t('is not a number') : undefined;
  if (validity.badInput) return t('is not complete: give the date and the time, or clear it');
  if (type === 'datetime-local' && value !== '' && isoOf(value) === null) return t('is not a time');
  return undefined;
}

/** Returns an error for all fields of the form that the browser cannot parse, or undefined if it can parse all. */
function unreadable(form: HTMLFormElement): ApiError | undefined {
  const fields = [...form.elements].flatMap((input) => {
    const message = unreadableOf(input);
    return message === undefined ? [] : [{ path: input.getAttribute('name') ?? '', message }];
  });
  return fields.length === 0 ? undefined : new ApiError('BAD_USER_INPUT', t('Not complete.'), { fields });
}

/**
 * A form that the API validates. Errors of a field are shown at the field, other errors above the form. The first
 * invalid field gets the focus, and the input stays.
 * A value that the browser cannot parse, such as a date without a time, is reported in the same way. The form is not
 * submitted then, because it would send the value as empty.
 */
export function Form({
  error,
  onSubmit,
  onChange,
  label,
  className = 'form',
  children,
}: {
  error?: Error | null;
  onSubmit: (values: FormData) => void;
  onChange?: (event: FormEvent<HTMLFormElement>) => void;
  /** Name of the form for screen readers. */
  label: string;
  className?: string;
  children: ReactNode;
}) {
  const form = useRef<HTMLFormElement>(null);
  const [general, setGeneral] = useState<string>();
  const [unread, setUnread] = useState<ApiError>();
  const shown = unread ?? error;
  const tell = useEffectEvent((fault: Error | null | undefined) => {
    const fields = fault instanceof ApiError ? fault.fields : [];
    const inputs = [...(form.current?.elements ?? [])].filter((each) => each.hasAttribute('name'));
    const isOf = (input: Element, { path }: FieldFault) => input.getAttribute('name') === fieldOf(path);
    const isShown = fields.length > 0 && fields.every((each) => inputs.some((input) => isOf(input, each)));
    setGeneral(fault && !isShown ? fault.message : undefined);
    const firstBad = inputs.find((input) => fields.some((each) => isOf(input, each)));
    if (firstBad instanceof HTMLElement) firstBad.focus();
  });
  useEffect(() => tell(error), [error]);
  useEffect(() => {
    if (unread) tell(unread);
  }, [unread]);
  return (
    <form
      ref={form}
      className={className}
      aria-label={label}
      noValidate
      onChange={onChange}
      onInput={() => setUnread(undefined)}
      onReset={() => setUnread(undefined)}
      onSubmit={(event) => {
        event.preventDefault();
        const fault = unreadable(event.currentTarget);
        setUnread(fault);
        if (!fault) onSubmit(new FormData(event.currentTarget));
      }}
    >
      {general && <Notice tone="bad">{general}</Notice>}
      <FaultsContext value={shown instanceof ApiError ? shown.fields : []}>{children}</FaultsContext>
    </form>
  );
}

/** Returns the value of a text field, trimmed. */
export function textOf(values: FormData, name: string): string {
  return String(values.get(name) ?? '').trim();
}

/** Returns the lines of a text field that are not empty, trimmed. */
export function linesOf(values: FormData, name: string): string[] {
  return textOf(values, name)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** Returns the value of a `datetime-local` field as ISO 8601, read in the browser's time zone. Null if it is empty. */
export function timeOf(values: FormData, name: string): string | null {
  return isoOf(textOf(values, name));
}
