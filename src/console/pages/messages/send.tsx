import { useSearchParams } from 'wouter';
import { useApiQuery } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { PageHeader } from '../../ui/layout.tsx';
import { Notice } from '../../ui/notice.tsx';
import { Loaded } from '../../ui/states.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { EmailForm } from './email-form.tsx';
import { CHANNEL_NAMES } from './message-text.ts';
import { type Channel, MessageDetail } from './messages.generated.ts';
import { PushForm } from './push-form.tsx';
import type { Again } from './resend.ts';
import { SmsForm } from './sms-form.tsx';
import { WhatsAppForm } from './whatsapp-form.tsx';
import './messages.css';

const CHANNELS = Object.keys(CHANNEL_NAMES) as Channel[];

/**
 * The forms that send messages, one tab for each channel. The query parameter `channel` opens a tab. The parameter
 * `from` is the id of a message that fills the form, with `only=failed` for those recipients that did not get it.
 */
export default function SendPage() {
  const [params] = useSearchParams();
  const from = params.get('from');
  if (from === null) return <Forms channel={(params.get('channel') ?? '').toUpperCase()} />;
  const isOnlyFailed = params.get('only') === 'failed';
  return <FormsAgain key={`${from} ${isOnlyFailed}`} from={from} isOnlyFailed={isOnlyFailed} />;
}

function FormsAgain({ from, isOnlyFailed }: { from: string; isOnlyFailed: boolean }) {
  const query = useApiQuery(MessageDetail, { id: from });
  return (
    <Loaded query={query}>
      {({ message }) => (
        <Forms channel={message.channel} again={isOnlyFailed ? toFailedOnly(message) : message} />
      )}
    </Loaded>
  );
}

/** Returns the message as if it had been sent only to the recipients that failed. */
function toFailedOnly(message: Again): Again {
  const failed = message.recipients.filter(({ status }) => status === 'FAILED');
  return { ...message, to: failed.map(({ to }) => to) };
}

function Forms({ channel, again }: { channel: string; again?: Again }) {
  const forms = {
    SMS: <SmsForm again={again} />,
    EMAIL: <EmailForm again={again} />,
    PUSH: <PushForm again={again} />,
    WHATSAPP: <WhatsAppForm again={again} />,
  };
  return (
    <>
      <PageHeader title={again ? t('Send again') : t('Send a message')} />
      {again && (
        <Notice>
          {t('The form holds what the earlier message held. It is sent as a new one, with its own price.')}
        </Notice>
      )}
      <Tabs
        label={t('Channel')}
        initial={Math.max(0, CHANNELS.indexOf(channel as Channel))}
        keepsAll
        tabs={CHANNELS.map((each) => ({ label: CHANNEL_NAMES[each], content: forms[each] }))}
      />
    </>
  );
}
