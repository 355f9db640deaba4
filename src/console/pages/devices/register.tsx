import { useState } from 'react';
import { useLocation } from 'wouter';
import { ApiError } from '../../lib/api-error.ts';
import { useEnvironment, useInEnvironment } from '../../lib/environment.ts';
import { useApiMutation } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Field, Select, TextArea } from '../../ui/field.tsx';
import { Form, textOf } from '../../ui/form.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { useToast } from '../../ui/toast.tsx';
import { type DeviceKeysInput, Devices, type Platform, RegisterDevice } from './devices.generated.ts';
import { PLATFORM_NAMES } from './platforms.ts';

const PLATFORMS = Object.entries(PLATFORM_NAMES).map(([value, label]) => ({ value, label }));
const KEYS_WRONG = t('must be JSON with p256dh and auth, as the subscription has them');

/** Registers a device by hand. Apps register their devices through the REST API. */
export default function RegisterDevicePage() {
  const toast = useToast();
  const [, navigate] = useLocation();
  const environment = useEnvironment();
  const inEnvironment = useInEnvironment();
  const [platform, setPlatform] = useState<Platform>('ANDROID');
  const [keysFault, setKeysFault] = useState<ApiError>();
  const register = useApiMutation(RegisterDevice, {
    refetches: [Devices],
    onDone: () => {
      toast({ text: t('The device is registered.') });
      navigate(inEnvironment('/devices'));
    },
  });
  const submit = (values: FormData) => {
    const keys = platform === 'WEB' ? keysOf(textOf(values, 'keys')) : null;
    setKeysFault(
      keys === undefined
        ? new ApiError('BAD_USER_INPUT', KEYS_WRONG, { fields: [{ path: 'keys', message: KEYS_WRONG }] })
        : undefined,
    );
    if (keys === undefined) return;
    const [token, userId] = [textOf(values, 'token'), textOf(values, 'userId')];
    register.mutate({ input: { platform, token, userId, keys, environment } });
  };
  return (
    <>
      <PageHeader title={t('Register a device')} />
      <p>{t('For trying push messages out: your app registers its devices itself.')}</p>
      <Form label={t('Register a device')} error={keysFault ?? register.error} onSubmit={submit}>
        <Select
          name="platform"
          label={t('Platform')}
          options={PLATFORMS}
          value={platform}
          onChange={({ currentTarget }) => setPlatform(currentTarget.value as Platform)}
        />
        <Field
          name="token"
          label={platform === 'WEB' ? t("The subscription's endpoint") : t('Token')}
          autoComplete="off"
          hint={
            platform === 'WEB'
              ? t('An HTTPS address of the browser’s push service.')
              : t('What the push service calls the installation.')
          }
        />
        <Field
          name="userId"
          label={t('User')}
          autoComplete="off"
          hint={t('Who uses it, as your own system calls them. Push messages are sent to users.')}
        />
        {platform === 'WEB' && (
          <TextArea
            name="keys"
            label={t("The subscription's keys")}
            rows={3}
            spellCheck={false}
            hint={t('As JSON, such as {example}.', { example: '{"p256dh": "…", "auth": "…"}' })}
          />
        )}
        <div className="row">
          <Button type="submit" look="primary" isBusy={register.isPending}>
            {t('Register')}
          </Button>
          <ButtonLink href="/devices">{t('Cancel')}</ButtonLink>
        </div>
      </Form>
    </>
  );
}

/** Reads the Web Push keys `p256dh` and `auth` from a JSON text. Undefined if it does not have both. */
function keysOf(text: string): DeviceKeysInput | undefined {
  try {
    const { p256dh, auth } = JSON.parse(text);
    return typeof p256dh === 'string' && typeof auth === 'string' ? { p256dh, auth } : undefined;
  } catch {
    return undefined;
  }
}
