import { useEnvironment } from '../../lib/environment.ts';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { Can, usePermission } from '../../lib/session.tsx';
import { ButtonLink } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm-button.tsx';
import type { Column } from '../../ui/data-table.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { PAGE_SIZE, PagedTable } from '../../ui/paged-table.tsx';
import { useAfter } from '../../ui/pager.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { useToast } from '../../ui/toast.tsx';
import { Time } from '../../ui/values.tsx';
import { Devices, type DevicesQuery, RemoveDevice } from './devices.generated.ts';
import { PLATFORM_NAMES } from './platforms.ts';

type Device = NonNullable<DevicesQuery['devices']>['nodes'][number];
const SHOWN_OF_TOKEN = 32;

const COLUMNS: readonly Column<Device>[] = [
  { header: 'User', cell: ({ userId }) => userId },
  { header: 'Platform', cell: ({ platform }) => PLATFORM_NAMES[platform] },
  { header: 'Token', cell: ({ token }) => <code title={token}>{shortened(token)}</code> },
  { header: 'Registered', cell: ({ createdAt }) => <Time at={createdAt} />, isWhole: true },
  { header: 'Seen', cell: ({ updatedAt }) => <Time at={updatedAt} />, isWhole: true },
];
const REMOVE: Column<Device> = { header: 'Actions', cell: (device) => <Remove of={device} /> };

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
      <PageHeader title="Devices">
        <Can
          run="device.register"
          otherwise={<span className="quiet">Your role can read devices, not change them.</span>}
        >
          <ButtonLink href="/devices/new" look="primary">
            Register a device
          </ButtonLink>
        </Can>
      </PageHeader>
      <Loaded query={devices}>
        {(data) => (
          <PagedTable
            of={data.devices}
            caption="The newest first"
            columns={mayRemove ? [...COLUMNS, REMOVE] : COLUMNS}
            keyOf={({ id }) => id}
            empty={
              <EmptyState title="No devices yet">
                <p>
                  Your app registers each installation with <code>POST /developers/push/devices</code>; push
                  messages then reach it by its user.
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
    onDone: () => toast({ text: `The device of ${userId} is removed.` }),
  });
  return (
    <ConfirmButton
      title={`Remove the ${PLATFORM_NAMES[platform]} device of ${userId}?`}
      consequence="Push messages no longer reach it until the app registers it again."
      confirmLabel="Remove"
      onConfirm={() => remove.mutateAsync({ id })}
    >
      Remove <span className="visually-hidden">the device of {userId}</span>
    </ConfirmButton>
  );
}
