import { useState } from 'react';
import { useLocation } from 'wouter';
import { ApiError } from '../../lib/api-error.ts';
import { useEnvironment, useInEnvironment } from '../../lib/environment.ts';
import { useApiMutation } from '../../lib/queries.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Field, Select, TextArea } from '../../ui/field.tsx';
import { Form, textOf } from '../../ui/form.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { useToast } from '../../ui/toast.tsx';
import { type DeviceKeysInput, Devices, type Platform, RegisterDevice } from './devices.generated.ts';
import { PLATFORM_NAMES } from './platforms.ts';

const PLATFORMS = Object.entries(PLATFORM_NAMES).map(([value, label]) => ({ value, label }));
const KEYS_WRONG = 'must be JSON with p256dh and auth, as the subscription has them';

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
      toast({ text: 'The device is registered.' });
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
      <PageHeader title="Register a device" />
      <p>For trying push messages out: your app registers its devices itself.</p>
      <Form label="Register a device" error={keysFault ?? register.error} onSubmit={submit}>
        <Select
          name="platform"
          label="Platform"
          options={PLATFORMS}
          value={platform}
          onChange={({ currentTarget }) => setPlatform(currentTarget.value as Platform)}
        />
        <Field
          name="token"
          label={platform === 'WEB' ? "The subscription's endpoint" : 'Token'}
          autoComplete="off"
          hint={
            platform === 'WEB'
              ? 'An HTTPS address of the browser’s push service.'
              : 'What the push service calls the installation.'
          }
        />
        <Field
          name="userId"
          label="User"
          autoComplete="off"
          hint="Who uses it, as your own system calls them. Push messages are sent to users."
        />
        {platform === 'WEB' && (
          <TextArea
            name="keys"
            label="The subscription's keys"
            rows={3}
            spellCheck={false}
            hint={'As JSON, such as {"p256dh": "…", "auth": "…"}.'}
          />
        )}
        <div className="row">
          <Button type="submit" look="primary" isBusy={register.isPending}>
            Register
          </Button>
          <ButtonLink href="/devices">Cancel</ButtonLink>
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
