import { useState } from 'react';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { useViewer } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/code.tsx';
import { ConfirmButton } from '../../ui/confirm-button.tsx';
import { Checkbox, Field, Select, TextArea } from '../../ui/field.tsx';
import { Form, textOf } from '../../ui/form.tsx';
import { Notice } from '../../ui/notice.tsx';
import { Loaded } from '../../ui/states.tsx';
import { T } from '../../ui/t.tsx';
import { useToast } from '../../ui/toast.tsx';
import { Time } from '../../ui/values.tsx';
import {
  AccountSingleSignOn,
  type AccountSingleSignOnQuery,
  CheckSingleSignOnDomain,
  RemoveSingleSignOn,
  SetSingleSignOn,
  type SetSingleSignOnMutationVariables,
} from './single-sign-on.generated.ts';

type Settings = NonNullable<AccountSingleSignOnQuery['singleSignOn']>;
type Mapping = SetSingleSignOnMutationVariables['roleMapping'];
type Role = Mapping['rules'][number]['role'];

const ROLES: readonly Role[] = ['OWNER', 'ADMIN', 'DEVELOPER', 'SUPPORT', 'VIEWER'];

/** For owners: the identity provider of the account. */
export function SingleSignOnSection() {
  const query = useApiQuery(AccountSingleSignOn, {});
  const [isOpen, setOpen] = useState(false);
  return (
    <section className="card stack" aria-labelledby="single-sign-on">
      <h2 id="single-sign-on">{t('Single sign-on')}</h2>
      <Loaded query={query}>
        {({ singleSignOn: settings }) => (
          <>
            {settings ? (
              <Facts settings={settings} />
            ) : (
              <p>
                {t(
                  'Members sign in with passwords or passkeys. They can sign in at your identity provider instead.',
                )}
              </p>
            )}
            {isOpen ? (
              <SettingsForm settings={settings ?? undefined} onDone={() => setOpen(false)} />
            ) : (
              <div className="row">
                <Button onClick={() => setOpen(true)}>
                  {settings ? t('Change the provider') : t('Set up single sign-on')}
                </Button>
                {settings && <Remove />}
              </div>
            )}
          </>
        )}
      </Loaded>
    </section>
  );
}

function Facts({ settings }: { settings: Settings }) {
  const { issuer, domain, domainProvedAt, domainLostAt, dnsRecord, required } = settings;
  const toast = useToast();
  const check = useApiMutation(CheckSingleSignOnDomain, {
    refetches: [AccountSingleSignOn],
    onDone: () => toast({ text: t('{domain} is proved. Its people can sign in now.', { domain }) }),
  });
  const facts = domainProvedAt !== null && (
    <p>
      <T
        text={
          required
            ? 'People of {domain} sign in at {issuer}, and only there. The domain was proved {time}.'
            : 'People of {domain} sign in at {issuer}. The domain was proved {time}.'
        }
        domain={domain}
        issuer={issuer}
        time={<Time at={domainProvedAt} />}
      />
    </p>
  );
  if (facts && domainLostAt === null) return facts;
  return (
    <>
      {facts}
      {domainLostAt === null ? (
        <p>
          <T
            text="Add this TXT record to the DNS of {domain}. Nobody signs in by the provider before."
            domain={domain}
          />
        </p>
      ) : (
        <Notice tone="warn">
          <T
            text="The DNS record of {domain} is gone since {time}. People who have signed in before still can, but nobody else. Add this TXT record again."
            domain={domain}
            time={<Time at={domainLostAt} />}
          />
        </Notice>
      )}
      <CodeBlock label={t('Name of the record')} text={dnsRecord.name} />
      <CodeBlock label={t('Text of the record')} text={dnsRecord.value} />
      {check.error && <Notice tone="warn">{check.error.message}</Notice>}
      <div className="row">
        <Button look="primary" isBusy={check.isPending} onClick={() => check.mutate({})}>
          {t('Check now')}
        </Button>
      </div>
    </>
  );
}

function Remove() {
  const toast = useToast();
  const remove = useApiMutation(RemoveSingleSignOn, {
    refetches: [AccountSingleSignOn],
    onDone: () => toast({ text: t('The provider is removed.') }),
  });
  return (
    <ConfirmButton
      title={t('Remove the provider?')}
      consequence={t(
        'People who signed in by it are signed out. Members sign in with passwords again. A member without a password can ask for one by mail.',
      )}
      confirmLabel={t('Remove it')}
      onConfirm={() => remove.mutateAsync({})}
    >
      {t('Remove the provider')}
    </ConfirmButton>
  );
}

function SettingsForm({ settings, onDone }: { settings: Settings | undefined; onDone: () => void }) {
  const toast = useToast();
  const viewer = useViewer();
  const set = useApiMutation(SetSingleSignOn, {
    refetches: [AccountSingleSignOn],
    onDone: () => {
      toast({ text: t('Saved.') });
      onDone();
    },
  });
  const { roleMapping } = settings ?? {};
  return (
    <Form
      label={t('Single sign-on')}
      error={set.error}
      onSubmit={(values) => {
        const secret = textOf(values, 'clientSecret');
        set.mutate({
          issuer: textOf(values, 'issuer'),
          clientId: textOf(values, 'clientId'),
          ...(secret === '' ? {} : { clientSecret: secret }),
          domain: textOf(values, 'domain'),
          roleMapping: mappingOf(values),
          required: values.get('required') === 'on',
        });
      }}
    >
      <p>{t('Register this redirect URI at the provider:')}</p>
      <CodeBlock
        label={t('Redirect URI')}
        text={`${location.origin}/console/single-sign-on/${viewer.account?.id ?? ''}`}
      />
      <Field
        name="issuer"
        label={t('Issuer')}
        type="url"
        defaultValue={settings?.issuer}
        hint={t('As the provider names it, such as https://login.example.com.')}
        autoFocus
      />
      <Field name="clientId" label={t('Client id')} defaultValue={settings?.clientId} />
      <Field
        name="clientSecret"
        label={t('Client secret')}
        type="password"
        autoComplete="off"
        hint={settings ? t('Leave it empty to keep the one that is stored.') : undefined}
      />
      <Field
        name="domain"
        label={t('Domain')}
        defaultValue={settings?.domain}
        hint={t('The part of the email addresses after the @, such as example.com.')}
      />
      <Field
        name="claim"
        label={t('Claim')}
        defaultValue={roleMapping?.claim ?? 'groups'}
        hint={t('What the provider calls the groups or roles of a person.')}
      />
      <TextArea
        name="roleMapping"
        label={t('Roles')}
        defaultValue={roleMapping?.rules.map(({ value, role }) => `${value} = ${role}`).join('\n')}
        hint={t('A group and its role in each line, such as “admins = ADMIN”. Roles: {roles}.', {
          roles: ROLES.join(', '),
        })}
      />
      <Select
        name="defaultRole"
        label={t('Everybody else')}
        defaultValue={roleMapping?.defaultRole ?? ''}
        options={[
          { value: '', label: t('Cannot sign in') },
          ...ROLES.map((role) => ({ value: role, label: role })),
        ]}
      />
      <Checkbox
        name="required"
        label={t('Members must sign in by the provider')}
        defaultChecked={settings?.required}
        hint={t(
          'Sessions by passwords end. Only you can still use your password, in case the provider fails.',
        )}
      />
      <div className="row">
        <Button type="submit" look="primary" isBusy={set.isPending}>
          {t('Save')}
        </Button>
        <Button onClick={onDone}>{t('Cancel')}</Button>
      </div>
    </Form>
  );
}

/** Reads the mapping. The gateway refuses what is not a role, and says which line it is. */
function mappingOf(values: FormData): Mapping {
  const rules = textOf(values, 'roleMapping')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const at = line.lastIndexOf('=');
      return { value: line.slice(0, Math.max(0, at)).trim(), role: roleOf(line.slice(at + 1)) };
    });
  const defaultRole = String(values.get('defaultRole'));
  return {
    claim: textOf(values, 'claim'),
    rules,
    ...(defaultRole === '' ? {} : { defaultRole: roleOf(defaultRole) }),
  };
}

const roleOf = (text: string) => text.trim().toUpperCase() as Role;
