import { useEnvironment } from '../../lib/environment.ts';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { Can, usePermission } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { ButtonLink } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm-button.tsx';
import type { Column } from '../../ui/data-table.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { PAGE_SIZE, PagedTable } from '../../ui/paged-table.tsx';
import { useAfter } from '../../ui/pager.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { T } from '../../ui/t.tsx';
import { useToast } from '../../ui/toast.tsx';
import { Time } from '../../ui/values.tsx';
import { Devices, type DevicesQuery, RemoveDevice } from './devices.generated.ts';
import { PLATFORM_NAMES } from './platforms.ts';

type Device = NonNullable<DevicesQuery['devices']>['nodes'][number];
const SHOWN_OF_TOKEN = 32;

const COLUMNS: readonly Column<Device>[] = [
  { header: t('User'), cell: ({ userId }) => userId },
  { header: t('Platform'), cell: ({ platform }) => PLATFORM_NAMES[platform] },
  { header: t('Token'), cell: ({ token }) => <code title={token}>{shortened(token)}</code> },
  { header: t('Registered'), cell: ({ createdAt }) => <Time at={createdAt} />, isWhole: true },
  { header: t('Seen'), cell: ({ updatedAt }) => <Time at={updatedAt} />, isWhole: true },
];
const REMOVE: Column<Device> = { header: t('Actions'), cell: (device) => <Remove of={device} /> };

function shortened(token: string): string {
  return token.length <= SHOWN_OF_TOKEN ? token : `${token.slice(0, SHOWN_OF_TOKEN)}…`;
}

/** The list of devices that receive push notifications. */
export default function DevicesPage() {
  const variables = { first: PAGE_SIZE, after: useAfter(), environment: useEnvironment() };
  const devices = useApiQuery(Devices, variables, { keepsLast: true });
  const mayRemove = usePermission('device.remove');
  return (
    <>
      <PageHeader title={t('Devices')}>
        <Can
          run="device.register"
          otherwise={<span className="quiet">{t('Your role can read devices, not change them.')}</span>}
        >
          <ButtonLink href="/devices/new" look="primary">
            {t('Register a device')}
          </ButtonLink>
        </Can>
      </PageHeader>
      <Loaded query={devices}>
        {(data) => (
          <PagedTable
            of={data.devices}
            caption={t('The newest first')}
            columns={mayRemove ? [...COLUMNS, REMOVE] : COLUMNS}
            keyOf={({ id }) => id}
            empty={
              <EmptyState title={t('No devices yet')}>
                <p>
                  <T
                    text="Your app registers each installation with <code>POST /developers/push/devices</code>; push messages then reach it by its user."
                    code={<code />}
                  />
                </p>
              </EmptyState>
            }
          />
        )}
      </Loaded>
    </>
  );
}

function Remove({ of: { id, userId, platform } }: { of: Device }) {
  const toast = useToast();
  const remove = useApiMutation(RemoveDevice, {
    refetches: [Devices],
    onDone: () => toast({ text: t('The device of {userId} is removed.', { userId }) }),
  });
  return (
    <ConfirmButton
      title={t('Remove the {platform} device of {userId}?', {
        platform: PLATFORM_NAMES[platform],
        userId,
      })}
      consequence={t('Push messages no longer reach it until the app registers it again.')}
      confirmLabel={t('Remove')}
      onConfirm={() => remove.mutateAsync({ id })}
    >
      <T
        text="Remove <span>the device of {userId}</span>"
        span={<span className="visually-hidden" />}
        userId={userId}
      />
    </ConfirmButton>
  );
}
