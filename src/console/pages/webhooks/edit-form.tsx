import { useState } from 'react';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { Form } from '../../ui/form.tsx';
import { Loaded } from '../../ui/states.tsx';
import { useToast } from '../../ui/toast.tsx';
import { Samples } from './samples.tsx';
import { WebhookFields, type WebhookProperties, webhookPropertiesOf } from './webhook-fields.tsx';
import {
  EventTypes,
  UpdateWebhook,
  WebhookDetail,
  type WebhookRowFragment,
  Webhooks,
} from './webhooks.generated.ts';

/** Changes a webhook, and offers an undo. */
export function EditForm({ of: webhook }: { of: WebhookRowFragment }) {
  const toast = useToast();
  const query = useApiQuery(EventTypes, {});
  const update = useApiMutation(UpdateWebhook, { refetches: [WebhookDetail, Webhooks] });
  const [undone, setUndone] = useState(0);
  const { url, events, description, maxRetries } = webhook;
  const before: WebhookProperties = { url, events, description, maxRetries };
  const save = (properties: WebhookProperties) => {
    const { url: nextUrl, ...rest } = properties;
    // The gateway resolves the host name of a new URL. An unchanged URL is not sent, so that the other fields can
    // change even if its name does not resolve.
    const input = nextUrl === url ? rest : properties;
    const undo = () =>
      update.mutateNext(
        { id: webhook.id, input: before },
        { onSuccess: () => setUndone((times) => times + 1) },
      );
    update.mutate(
      { id: webhook.id, input },
      { onSuccess: () => toast({ text: t('Saved; it holds from the next attempt on.'), undo }) },
    );
  };
  return (
    <Loaded query={query}>
      {({ eventTypes }) => (
        <div className="columns">
          <section className="card stack" aria-labelledby="edit">
            <h2 id="edit">{t('Edit')}</h2>
            <Form
              key={undone}
              label={t('Change the webhook')}
              error={update.error}
              onSubmit={(values) => save(webhookPropertiesOf(values))}
            >
              <WebhookFields of={before} eventTypes={eventTypes} />
              <div className="row">
                <Button type="submit" look="primary" isBusy={update.isPending}>
                  {t('Save')}
                </Button>
              </div>
            </Form>
          </section>
          <Samples of={eventTypes} />
        </div>
      )}
    </Loaded>
  );
}
