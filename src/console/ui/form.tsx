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
import { Notice } from './notice.tsx';
import './form.css';

const FaultsContext = createContext<readonly FieldFault[]>([]);

/** The field that a path of the API names: `input.name` or `name`, and `ipAllowlist.0` for a line. */
const fieldOf = (path: string) => path.replace(/^input\./, '').split('.')[0];

/** The API's error for the field `name`, if any. */
export function useFieldFault(name: string): string | undefined {
  const faults = useContext(FaultsContext).filter(({ path }) => fieldOf(path) === name);
  return faults.length === 0 ? undefined : faults.map(({ message }) => message).join('; ');
}

/** The browser's message for a value that it cannot parse. Its value is empty then. */
function unreadableOf(input: Element): string | undefined {
  if (!(input instanceof HTMLInputElement)) return undefined;
  const { type, value, validity } = input;
  if (type === 'number') return validity.badInput ? 'is not a number' : undefined;
  if (validity.badInput) return 'is not complete: give the date and the time, or clear it';
  if (type === 'datetime-local' && value !== '' && isoOf(value) === null) return 'is not a time';
  return undefined;
}

/** The refusal of a form with values that the browser cannot parse; undefined when there are none. */
function unreadable(form: HTMLFormElement): ApiError | undefined {
  const fields = [...form.elements].flatMap((input) => {
    const message = unreadableOf(input);
    return message === undefined ? [] : [{ path: input.getAttribute('name') ?? '', message }];
  });
  return fields.length === 0 ? undefined : new ApiError('BAD_USER_INPUT', 'Not complete.', { fields });
}

/**
 * A form that the API validates. Errors of a field are shown at the field, the others above the form. The first bad
 * field gets the focus, and the input stays. A value that the browser cannot parse, such as a date without its time, is
 * reported in the same way and not submitted, because it would be sent as empty.
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

/** The time of a `datetime-local` field, in the browser's zone, as ISO 8601; null when it is empty. */
export function timeOf(values: FormData, name: string): string | null {
  return isoOf(textOf(values, name));
}
