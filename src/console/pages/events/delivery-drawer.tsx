import { useLiveRefetch } from '../../lib/live-refetch.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Badge } from '../../ui/badge.tsx';
import { Drawer } from '../../ui/drawer.tsx';
import { Loaded } from '../../ui/states.tsx';
import { type Delivery, DeliveryRetry, DeliveryView } from '../webhooks/delivery-view.tsx';
import { DeliveryDetail, DeliveryUpdated } from '../webhooks/webhooks.generated.ts';

/** The query parameter that names the delivery in the drawer. */
export const OPENED = 'delivery';

/** The delivery that the URL names, in a drawer beside the list. */
export function DeliveryDrawer() {
  return (
    <Drawer name={OPENED} title={t('Event')}>
      {(id) => <Opened key={id} id={id} />}
    </Drawer>
  );
}

function Opened({ id }: { id: string }) {
  const query = useApiQuery(DeliveryDetail, { id });
  return <Loaded query={query}>{({ webhookDelivery }) => <Shown of={webhookDelivery} />}</Loaded>;
}

function Shown({ of: delivery }: { of: Delivery }) {
  useLiveRefetch(DeliveryUpdated, { webhookId: delivery.webhook?.id ?? null }, [DeliveryDetail]);
  return (
    <>
      <div className="row spread">
        <span className="row">
          <code>{delivery.event}</code>
          <Badge status={delivery.status} />
        </span>
        <DeliveryRetry of={delivery} />
      </div>
      <DeliveryView of={delivery} />
    </>
  );
}
