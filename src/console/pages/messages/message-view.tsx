import type { ReactNode } from 'react';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { Can, usePermission } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { Badge } from '../../ui/badge.tsx';
import { ButtonLink } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm-button.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { Loaded } from '../../ui/states.tsx';
import { T } from '../../ui/t.tsx';
import { useToast } from '../../ui/toast.tsx';
import { Money } from '../../ui/values.tsx';
import { Content } from './content.tsx';
import { Cost } from './cost.tsx';
import { Deliveries } from './deliveries.tsx';
import { Facts } from './facts.tsx';
import { Events, Timeline } from './history.tsx';
import { useLiveMessage } from './live-message.ts';
import { CHANNEL_NAMES, type Message, whom } from './message-text.ts';
import {
  CancelMessage,
  MessageDetail,
  MessageHistory,
  MessageReason,
  Messages,
} from './messages.generated.ts';
import { Reason } from './reason.tsx';
import { Recipients } from './recipients.tsx';
import { ResendAsItWas } from './resend-as-it-was.tsx';
import { StatusBadge } from './status-badge.tsx';
import './messages.css';

/**
 * One message, with live updates: first why it is as it is and what can be done, then its timeline, recipients, cost,
 * events and deliveries. A drawer shows it in one column.
 */
export function MessageView({
  id,
  isDrawer = false,
  actions,
}: {
  id: string;
  isDrawer?: boolean;
  /** Further buttons beside those of the message. */
  actions?: ReactNode;
}) {
  const query = useApiQuery(MessageDetail, { id });
  const isSettling = useLiveMessage(id);
  return (
    <Loaded query={query}>
      {({ message }) => (
        <>
          <PageHeader
            title={t('{channel} to {to}', {
              channel: CHANNEL_NAMES[message.channel],
              to: whom(message.to),
            })}
          >
            <span aria-live="polite">
              <StatusBadge of={message} />
            </span>
            {message.environment === 'SANDBOX' && <Badge status="SANDBOX" />}
            {actions}
            <Acts of={message} />
          </PageHeader>
          <Reason of={message} />
          <div className={isDrawer ? 'stack' : 'columns'}>
            <div className="stack">
              <Content of={message} />
              <Cost of={message} />
            </div>
            <Timeline id={id} />
          </div>
          <Recipients of={message} />
          <Facts of={message} />
          <Events id={id} />
          <Deliveries id={id} isSettling={isSettling} />
        </>
      )}
    </Loaded>
  );
}

function Acts({ of: message }: { of: Message }) {
  const toast = useToast();
  const mayCancel = usePermission('message.cancel');
  const cancel = useApiMutation(CancelMessage, {
    refetches: [MessageDetail, MessageReason, MessageHistory, Messages],
    onDone: () => toast({ text: t('The message is canceled and its cost refunded.') }),
  });
  return (
    <>
      <Can
        run="message.sendSms"
        otherwise={
          <Can
            run="message.resend"
            otherwise={
              <span className="quiet">{t('Your role can read messages, not send or cancel them.')}</span>
            }
          >
            <ResendAsItWas of={message} onlyFailed={false} />
          </Can>
        }
      >
        <ButtonLink href={`/messages/send?from=${message.id}`}>{t('Resend')}</ButtonLink>
      </Can>
      {mayCancel && message.status === 'PENDING' && (
        <ConfirmButton
          title={t('Cancel this message?')}
          consequence={
            <p>
              <T
                text="Nobody gets it, and {money} go back to the balance. A message that a carrier is already taking cannot be canceled any more."
                money={<Money amount={message.cost} currency={message.currency} />}
              />
            </p>
          }
          confirmLabel={t('Cancel the message')}
          onConfirm={() => cancel.mutateAsync({ id: message.id })}
        >
          {t('Cancel')}
        </ConfirmButton>
      )}
    </>
  );
}
