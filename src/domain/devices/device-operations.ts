import {
  ACCOUNT_ROLES,
  accountEnvironmentOf,
  type Environment,
  listedEnvironment,
  visibilityOf,
} from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { type FieldFault, notFound, serviceUnavailable, validationError } from '../errors.ts';
import { operation } from '../operation.ts';
import {
  EMPTY_PAGE,
  emptySlice,
  keyRange,
  type Page,
  type PageRequest,
  type Slice,
  type SliceInput,
  sliceOf,
  UUID_KEY,
} from '../paging.ts';
import { TargetRefused } from '../ports/webhook-transport.ts';
import { isUuid } from '../uuid.ts';
import type { Device, DeviceKeys, Platform } from './device.ts';

export interface RegisterDeviceInput {
  readonly token: string;
  readonly platform: Platform;
  readonly userId: string;
  readonly keys?: DeviceKeys | undefined;
  /** The environment that a member chooses. Default: production. An API key always registers in its own environment. */
  readonly environment?: Environment | undefined;
}
/** The environment of the devices. The default is the environment of the API key, and production for members. */
interface InEnvironment {
  readonly environment?: Environment | undefined;
}

export const DEVICE_TOKEN_MAX_LENGTH = 2048;
export const DEVICE_USER_ID_MAX_LENGTH = 128;

const WRITE = { scopes: ['SEND_PUSH'], roles: ['OWNER', 'ADMIN', 'DEVELOPER'] } as const;
const READ = { scopes: ['SEND_PUSH'], roles: ACCOUNT_ROLES } as const;

/** The allowed characters of a token: ASCII without spaces, because tokens become part of URLs and headers. */
const TOKEN = /^[\x21-\x7e]+$/;
const P256DH_BYTES = 65;
const UNCOMPRESSED_POINT = 4;
const AUTH_BYTES = 16;

/** Operations on devices that receive push messages (R24). */
export function deviceOperations({ stores, uow, clock, ids, transport, settings }: Dependencies) {
  async function checkEndpoint(url: string): Promise<void> {
    try {
      await transport.checkAddress(url);
    } catch (error) {
      if (!(error instanceof TargetRefused)) throw error;
      throw validationError([{ path: 'token', message: `cannot be used as an endpoint: ${error.reason}` }]);
    }
  }

  return {
    /**
     * Registers a device. If a device has the token already, updates that device. The endpoint URL of a browser is
     * checked like a webhook URL.
     */
    register: operation(
      'device.register',
      WRITE,
      async (caller, input: RegisterDeviceInput): Promise<Device> => {
        const owner = accountEnvironmentOf(caller, input.environment);
        const faults = faultsOf(input);
        if (faults.length > 0) throw validationError(faults);
        if (input.platform === 'web') await checkEndpoint(input.token);
        const now = clock.now();
        const device: Device = {
          id: ids.uuid(),
          ...owner,
          platform: input.platform,
          token: input.token,
          keys: input.platform === 'web' && input.keys ? input.keys : null,
          userId: input.userId.trim(),
          createdAt: now,
          updatedAt: now,
        };
        return uow.run((tx) => tx.devices.upsert(device));
      },
    ),

    /** Returns one page of the account's devices, newest first. */
    list: operation(
      'device.list',
      READ,
      async (caller, input: InEnvironment & { readonly page: PageRequest }): Promise<Page<Device>> => {
        const owner = listedEnvironment(caller, input.environment);
        return owner ? stores.devices.page(owner, input.page) : EMPTY_PAGE;
      },
    ),

    /** Returns a slice of the account's devices, newest first. */
    slice: operation(
      'device.slice',
      READ,
      async (caller, input: SliceInput & InEnvironment): Promise<Slice<Device>> => {
        const range = keyRange(input, UUID_KEY);
        const owner = listedEnvironment(caller, input.environment);
        if (!owner) return emptySlice(range);
        const rows = await stores.devices.slice(owner, range);
        return sliceOf(
          rows,
          range,
          (device) => device.id,
          () => stores.devices.count(owner),
        );
      },
    ),

    get: operation('device.get', READ, async (caller, input: { id: string }): Promise<Device> => {
      const device = isUuid(input.id) && (await stores.devices.find(visibilityOf(caller), input.id));
      if (!device) throw notFound('Device');
      return device;
    }),

    remove: operation('device.remove', WRITE, async (caller, input: { id: string }): Promise<void> => {
      const visibility = visibilityOf(caller);
      const removed = isUuid(input.id) ? await uow.run((tx) => tx.devices.remove(visibility, [input.id])) : 0;
      if (removed === 0) throw notFound('Device');
    }),

    /** Returns the `applicationServerKey` with which browsers subscribe. */
    webPushKey: operation(
      'device.webPushKey',
      READ,
      async (_caller, _input: Record<string, never>): Promise<string> => {
        if (settings.vapidPublicKey !== undefined) return settings.vapidPublicKey;
        throw serviceUnavailable(
          'No web push provider is configured on this gateway. Ask its operator.',
          60,
          'provider_missing',
        );
      },
    ),
  };
}

function faultsOf({ token, platform, userId, keys }: RegisterDeviceInput): FieldFault[] {
  const faults: FieldFault[] = [];
  const expect = (path: string, isRight: boolean, message: string) => {
    if (!isRight) faults.push({ path, message });
  };
  expect(
    'token',
    token.length <= DEVICE_TOKEN_MAX_LENGTH && TOKEN.test(token),
    `must be 1 to ${DEVICE_TOKEN_MAX_LENGTH} characters of ASCII without spaces`,
  );
  const length = userId.trim().length;
  expect(
    'userId',
    length > 0 && length <= DEVICE_USER_ID_MAX_LENGTH && !userId.includes(','),
    `must have 1 to ${DEVICE_USER_ID_MAX_LENGTH} characters and no comma`,
  );
  if (platform !== 'web') return faults;
  expect('keys', keys !== undefined, 'are required for the web: p256dh and auth of the subscription');
  if (keys) {
    const point = Buffer.from(keys.p256dh, 'base64url');
    expect(
      'keys.p256dh',
      point.length === P256DH_BYTES && point[0] === UNCOMPRESSED_POINT,
      'must be an uncompressed P-256 point of 65 bytes in base64url',
    );
    const auth = Buffer.from(keys.auth, 'base64url');
    expect('keys.auth', auth.length === AUTH_BYTES, 'must be 16 bytes in base64url');
  }
  return faults;
}
