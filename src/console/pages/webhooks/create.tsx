import { useLocation } from 'wouter';
import { useEnvironment, useInEnvironment } from '../../lib/environment.ts';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Form } from '../../ui/form.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { Loaded } from '../../ui/states.tsx';
import { Samples } from './samples.tsx';
import { SecretDialog } from './secret-dialog.tsx';
import { type EventTypeList, WebhookFields, webhookPropertiesOf } from './webhook-fields.tsx';
import { EventTypes, RegisterWebhook, Webhooks } from './webhooks.generated.ts';

/** Registers a webhook and shows its secret once. */
export default function RegisterWebhookPage() {
  const query = useApiQuery(EventTypes, {});
  return (
    <>
      <PageHeader title={t('New webhook')} />
      <Loaded query={query}>{({ eventTypes }) => <Register eventTypes={eventTypes} />}</Loaded>
    </>
  );
}

function Register({ eventTypes }: { eventTypes: EventTypeList }) {
  const [, navigate] = useLocation();
  const environment = useEnvironment();
  const inEnvironment = useInEnvironment();
  const register = useApiMutation(RegisterWebhook, { refetches: [Webhooks] });
  const registered = register.data?.registerWebhook;
  return (
    <div className="columns">
      <Form
        label={t('New webhook')}
        error={register.error}
        onSubmit={(values) => register.mutate({ input: { ...webhookPropertiesOf(values), environment } })}
      >
        <WebhookFields eventTypes={eventTypes} />
        <div className="row">
          <Button type="submit" look="primary" isBusy={register.isPending}>
            {t('Register')}
          </Button>
          <ButtonLink href="/webhooks">{t('Cancel')}</ButtonLink>
        </div>
      </Form>
      <Samples of={eventTypes} />
      {registered && (
        <SecretDialog
          title={t("Your webhook's secret")}
          secret={registered.secret}
          onClose={() => navigate(inEnvironment(`/webhooks/${registered.webhook.id}`))}
        />
      )}
    </div>
  );
}
