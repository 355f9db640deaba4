import { useSearchParams } from 'wouter';
import { useLiveRefetch } from '../../lib/live-refetch.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { Badge } from '../../ui/badge.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Loaded } from '../../ui/states.tsx';
import { type Delivery, DeliveryRetry, DeliveryView } from '../webhooks/delivery-view.tsx';
import { DeliveryDetail, DeliveryUpdated } from '../webhooks/webhooks.generated.ts';

/** The query parameter that names the delivery in the drawer. */
export const OPENED = 'delivery';

/** The delivery that the URL names, in a drawer beside the list. The browser's back button closes the drawer. */
export function DeliveryDrawer() {
  const [params, setParams] = useSearchParams();
  const id = params.get(OPENED);
  if (id === null) return null;
  const close = () => {
    const next = new URLSearchParams(params);
    next.delete(OPENED);
    setParams(next);
  };
  return (
    <Dialog title="Event" look="drawer" onClose={close}>
      <Opened key={id} id={id} />
    </Dialog>
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
