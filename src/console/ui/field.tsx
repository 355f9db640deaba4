import { type ComponentProps, type ReactNode, useId } from 'react';
import { t } from '../lib/words.ts';
import { useFieldFault } from './form.tsx';

interface Labelled {
  /** The API's name of the field. Errors of the API with this name are shown at the field. */
  name: string;
  label: string;
  hint?: ReactNode;
}

/** Returns the ids and ARIA attributes that connect a control with its hint and its error. */
function useDescription(name: string, hint: ReactNode) {
  const id = useId();
  const fault = useFieldFault(name);
  const described = [hint ? `${id}-hint` : '', fault ? `${id}-error` : ''].filter((part) => part !== '');
  return {
    id,
    aria: {
      'aria-describedby': described.length === 0 ? undefined : described.join(' '),
      'aria-invalid': fault === undefined ? undefined : true,
    },
    hint: hint ? (
      <span id={`${id}-hint`} className="field-hint">
        {hint}
      </span>
    ) : null,
    fault: fault ? (
      <span id={`${id}-error`} className="field-error">
        {fault}
      </span>
    ) : null,
  };
}

export function Field({ name, label, hint, ...input }: Labelled & ComponentProps<'input'>) {
  const description = useDescription(name, hint);
  return (
    <div className="field">
      <label htmlFor={description.id}>{label}</label>
      {description.hint}
      <input className="input" {...input} {...description.aria} id={description.id} name={name} />
      {description.fault}
    </div>
  );
}

/** The field for the code of a second factor. */
export function CodeField({ hint }: { hint?: string }) {
  return (
    <Field
      name="code"
      label={t('Code')}
      autoComplete="one-time-code"
      autoCapitalize="none"
      spellCheck={false}
      autoFocus
      hint={hint ?? t('The six digits of your authenticator app, or a recovery code.')}
    />
  );
}

export function TextArea({ name, label, hint, ...input }: Labelled & ComponentProps<'textarea'>) {
  const description = useDescription(name, hint);
  return (
    <div className="field">
      <label htmlFor={description.id}>{label}</label>
      {description.hint}
      <textarea className="input" rows={4} {...input} {...description.aria} id={description.id} name={name} />
      {description.fault}
    </div>
  );
}

interface Option {
  readonly value: string;
  readonly label: string;
}

export function Select({
  name,
  label,
  hint,
  options,
  ...input
}: Labelled & { options: readonly Option[] } & ComponentProps<'select'>) {
  const description = useDescription(name, hint);
  return (
    <div className="field">
      <label htmlFor={description.id}>{label}</label>
      {description.hint}
      <select className="input" {...input} {...description.aria} id={description.id} name={name}>
        {options.map(({ value, label: text }) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
      {description.fault}
    </div>
  );
}

export function Checkbox({ name, label, hint, ...input }: Labelled & ComponentProps<'input'>) {
  const description = useDescription(name, hint);
  return (
    <div className="choice">
      <input type="checkbox" {...input} {...description.aria} id={description.id} name={name} />
      <label htmlFor={description.id}>{label}</label>
      {description.hint}
      {description.fault}
    </div>
  );
}

/** Checkboxes with a common label. The form data has all checked values under `name`. */
export function CheckboxGroup({
  name,
  label,
  hint,
  options,
  chosen = [],
}: Labelled & {
  options: readonly (Option & { readonly hint?: ReactNode; readonly isDisabled?: boolean })[];
  chosen?: readonly string[];
}) {
  const description = useDescription(name, hint);
  return (
    <fieldset className="field" {...description.aria}>
      <legend>{label}</legend>
      {description.hint}
      {/* Above the options: the first of them gets the focus, and below a long list nobody would see it. */}
      {description.fault}
      {options.map((option) => (
        <div className="choice" key={option.value}>
          <input
            type="checkbox"
            id={`${description.id}-${option.value}`}
            name={name}
            value={option.value}
            defaultChecked={chosen.includes(option.value)}
            disabled={option.isDisabled}
            aria-describedby={option.hint ? `${description.id}-${option.value}-hint` : undefined}
          />
          <label htmlFor={`${description.id}-${option.value}`}>{option.label}</label>
          {option.hint && (
            <span className="field-hint" id={`${description.id}-${option.value}-hint`}>
              {option.hint}
            </span>
          )}
        </div>
      ))}
    </fieldset>
  );
}
