import { useLocation } from 'wouter';
import { useEnvironment, useInEnvironment } from '../../lib/environment.ts';
import { formatName } from '../../lib/format.ts';
import { useApiMutation } from '../../lib/queries.ts';
import { useViewer } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { CheckboxGroup, Field, TextArea } from '../../ui/field.tsx';
import { Form, textOf } from '../../ui/form.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { useToast } from '../../ui/toast.tsx';
import { PURPOSE_HINTS } from './sender-text.ts';
import { type Purpose, RequestSender, Senders } from './senders.generated.ts';

const PURPOSES = Object.entries(PURPOSE_HINTS).map(([value, hint]) => ({
  value,
  label: formatName(value),
  hint,
}));

/** The page that requests a sender ID of SMS or an email domain. */
export default function RequestSenderPage() {
  const isSandbox = useEnvironment() === 'SANDBOX';
  return (
    <>
      <PageHeader title={t('Request a sender')} />
      {isSandbox && (
        <p>{t('In the sandbox it is approved at once. Production needs a request of its own.')}</p>
      )}
      <Tabs
        label={t('Kind of sender')}
        keepsAll
        tabs={[
          { label: t('Sender ID of SMS'), content: <SenderIdForm /> },
          { label: t('Email domain'), content: <DomainForm /> },
        ]}
      />
    </>
  );
}

/** Requests a sender and opens its page. */
function useRequest() {
  const toast = useToast();
  const [, navigate] = useLocation();
  const inEnvironment = useInEnvironment();
  return useApiMutation(RequestSender, {
    refetches: [Senders],
    onDone: ({ requestSender: { id, status } }, { input: { channel } }) => {
      if (status === 'APPROVED') toast({ text: t('It is approved.') });
      else if (channel === 'SMS')
        toast({ text: t('It is requested. The operator of this gateway reviews it.') });
      navigate(inEnvironment(`/senders/${id}`));
    },
  });
}

function SenderIdForm() {
  const environment = useEnvironment();
  const { account } = useViewer();
  const { mutate, error, isPending } = useRequest();
  return (
    <Form
      label={t('Request a sender ID')}
      error={error}
      onSubmit={(values) =>
        mutate({
          input: {
            channel: 'SMS',
            environment,
            senderId: textOf(values, 'senderId'),
            purposes: values.getAll('purposes') as Purpose[],
            useCase: textOf(values, 'useCase'),
            company: textOf(values, 'company'),
          },
        })
      }
    >
      <Field
        name="senderId"
        label={t('Sender ID')}
        hint={t('1 to 11 letters A-Z or digits, as people should see it. Capitals count.')}
        autoComplete="off"
        spellCheck={false}
      />
      <CheckboxGroup
        name="purposes"
        label={t('Purposes')}
        hint={t('Messages of other purposes are refused under this name.')}
        options={PURPOSES}
      />
      <TextArea
        name="useCase"
        label={t('What you send')}
        hint={t(
          'The operator and the networks read it. Say to whom and when, with an example. At most 500 characters.',
        )}
      />
      <Field
        name="company"
        label={t('Company')}
        hint={t('The registered name of who sends.')}
        defaultValue={account?.name}
        autoComplete="organization"
      />
      <Buttons label={t('Request the sender ID')} isBusy={isPending} />
    </Form>
  );
}

function DomainForm() {
  const environment = useEnvironment();
  const { mutate, error, isPending } = useRequest();
  return (
    <Form
      label={t('Add an email domain')}
      error={error}
      onSubmit={(values) =>
        mutate({ input: { channel: 'EMAIL', environment, domain: textOf(values, 'domain') } })
      }
    >
      <Field
        name="domain"
        label={t('Domain')}
        hint={t(
          'What follows the @ in the addresses that you send from. Its page then shows the DNS records to publish.',
        )}
        placeholder="example.com"
        inputMode="url"
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
      />
      <Buttons label={t('Add the domain')} isBusy={isPending} />
    </Form>
  );
}

function Buttons({ label, isBusy }: { label: string; isBusy: boolean }) {
  return (
    <div className="row">
      <Button type="submit" look="primary" isBusy={isBusy}>
        {label}
      </Button>
      <ButtonLink href="/senders">{t('Cancel')}</ButtonLink>
    </div>
  );
}
