import { formatName } from '../../lib/format.ts';
import { localTime } from '../../lib/local-time.ts';
import { useViewer } from '../../lib/session.tsx';
import { CheckboxGroup, Field, Select, TextArea } from '../../ui/field.tsx';
import { linesOf, textOf, timeOf } from '../../ui/form.tsx';
import type { Environment, Scope } from './api-keys.generated.ts';
import { ENVIRONMENTS, SCOPE_TEXTS } from './key-rules.ts';

interface KeyProperties {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly environment: Environment;
  readonly ipAllowlist: readonly string[];
  readonly expiresAt: string | null;
}

/** The fields of a new and of a changed key. */
export function KeyFields({ of }: { of?: KeyProperties }) {
  const isDeveloper = useViewer().role === 'DEVELOPER';
  const scopes = Object.entries(SCOPE_TEXTS).map(([value, text]) => {
    const isDisabled = isDeveloper && value === 'FULL_ACCESS';
    const hint = isDisabled ? 'Your role, Developer, cannot give it.' : text;
    return { value, label: formatName(value), hint, isDisabled };
  });
  return (
    <>
      <Field name="name" label="Name" hint="What uses the key, such as “web shop”." defaultValue={of?.name} />
      <CheckboxGroup
        name="scopes"
        label="Scopes"
        hint="Give no more than the program needs; you can change them later."
        options={scopes}
        chosen={of?.scopes ?? []}
      />
      <Select name="environment" label="Environment" options={ENVIRONMENTS} defaultValue={of?.environment} />
      <TextArea
        name="ipAllowlist"
        label="Addresses that may use it"
        hint="One address or CIDR a line, such as 203.0.113.0/24. Empty: every address."
        defaultValue={of?.ipAllowlist.join('\n')}
      />
      <Field
        name="expiresAt"
        label="Ends at"
        type="datetime-local"
        hint="In your time zone. Empty: never."
        defaultValue={localTime(of?.expiresAt ?? null)}
      />
    </>
  );
}

/** The values of the fields as the API takes them; `before` is what they were filled with. */
export function keyPropertiesOf(values: FormData, before?: Pick<KeyProperties, 'expiresAt'>): KeyProperties {
  // The field has no seconds: sending its value back unchanged would move the end earlier.
  const end = before?.expiresAt ?? null;
  const isSameEnd = end !== null && textOf(values, 'expiresAt') === localTime(end);
  return {
    name: textOf(values, 'name'),
    scopes: values.getAll('scopes') as Scope[],
    environment: textOf(values, 'environment') as Environment,
    ipAllowlist: linesOf(values, 'ipAllowlist'),
    expiresAt: isSameEnd ? end : timeOf(values, 'expiresAt'),
  };
}
