import { formatName } from '../../lib/format.ts';
import { localTime } from '../../lib/local-time.ts';
import { useViewer } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
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

/** The fields of an API key, for a new key and for a change. */
export function KeyFields({ of }: { of?: KeyProperties }) {
  const isDeveloper = useViewer().role === 'DEVELOPER';
  const scopes = Object.entries(SCOPE_TEXTS).map(([value, text]) => {
    const isDisabled = isDeveloper && value === 'FULL_ACCESS';
    const hint = isDisabled ? t('Your role, Developer, cannot give it.') : text;
    return { value, label: formatName(value), hint, isDisabled };
  });
  return (
    <>
      <Field
        name="name"
        label={t('Name')}
        hint={t('What uses the key, such as “web shop”.')}
        defaultValue={of?.name}
      />
      <CheckboxGroup
        name="scopes"
        label={t('Scopes')}
        hint={t('Give no more than the program needs; you can change them later.')}
        options={scopes}
        chosen={of?.scopes ?? []}
      />
      <Select
        name="environment"
        label={t('Environment')}
        options={ENVIRONMENTS}
        defaultValue={of?.environment}
      />
      <TextArea
        name="ipAllowlist"
        label={t('Addresses that may use it')}
        hint={t('One address or CIDR a line, such as 203.0.113.0/24. Empty: every address.')}
        defaultValue={of?.ipAllowlist.join('\n')}
      />
      <Field
        name="expiresAt"
        label={t('Ends at')}
        type="datetime-local"
        hint={t('In your time zone. Empty: never.')}
        defaultValue={localTime(of?.expiresAt ?? null)}
      />
    </>
  );
}

/** Converts the form's values to the input of the API. `before` is the key that filled the fields. */
export function keyPropertiesOf(values: FormData, before?: Pick<KeyProperties, 'expiresAt'>): KeyProperties {
  // The field has no seconds. If it is unchanged, keep the stored time: the field's value would end the key earlier.
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
