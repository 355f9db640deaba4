import { useParams } from 'wouter';
import { useLiveRefetch } from '../../lib/live-refetch.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { Badge } from '../../ui/badge.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { Loaded } from '../../ui/states.tsx';
import { type Delivery, DeliveryRetry, DeliveryView } from './delivery-view.tsx';
import { DeliveryDetail, DeliveryUpdated } from './webhooks.generated.ts';

/** The page of one delivery: its headers and payload, and each attempt with its result. */
export default function DeliveryPage() {
  const { deliveryId } = useParams<{ deliveryId: string }>();
  const query = useApiQuery(DeliveryDetail, { id: deliveryId });
  return (
    <Loaded query={query}>
      {({ webhookDelivery }) => <Detail key={webhookDelivery.id} of={webhookDelivery} />}
    </Loaded>
  );
}

function Detail({ of: delivery }: { of: Delivery }) {
  useLiveRefetch(DeliveryUpdated, { webhookId: delivery.webhook?.id ?? null }, [DeliveryDetail]);
  return (
    <>
      <PageHeader title={delivery.event}>
        <Badge status={delivery.status} />
        <DeliveryRetry of={delivery} />
      </PageHeader>
      <DeliveryView of={delivery} />
    </>
  );
}
