import { useParams } from 'wouter';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { Can, usePermission } from '../../lib/session.tsx';
import { Badge } from '../../ui/badge.tsx';
import { ButtonLink } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm-button.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { Loaded } from '../../ui/states.tsx';
import { useToast } from '../../ui/toast.tsx';
import { Money } from '../../ui/values.tsx';
import { Content } from './content.tsx';
import { Cost } from './cost.tsx';
import { Deliveries } from './deliveries.tsx';
import { Facts } from './facts.tsx';
import { Events, Timeline } from './history.tsx';
import { useLiveMessage } from './live-message.ts';
import { CHANNEL_NAMES, type Message, whom } from './message-text.ts';
import { CancelMessage, MessageDetail, MessageHistory, Messages } from './messages.generated.ts';
import { Recipients } from './recipients.tsx';
import './messages.css';

/** The page of one message, with live updates: its content, recipients, timeline and cost. */
export default function MessagePage() {
  const { id } = useParams<{ id: string }>();
  return <MessageOf key={id} id={id} />;
}

function MessageOf({ id }: { id: string }) {
  const query = useApiQuery(MessageDetail, { id });
  const isSettling = useLiveMessage(id);
  return (
    <Loaded query={query}>
      {({ message }) => (
        <>
          <PageHeader title={`${CHANNEL_NAMES[message.channel]} to ${whom(message.to)}`}>
            <span aria-live="polite">
              <Badge status={message.status} />
            </span>
            {message.environment === 'SANDBOX' && <Badge status="SANDBOX" />}
            <Acts of={message} />
          </PageHeader>
          <div className="columns">
            <Facts of={message} />
            <div className="stack">
              <Content of={message} />
              <Cost of={message} />
              <Timeline id={id} />
            </div>
          </div>
          <Recipients of={message} />
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
    refetches: [MessageDetail, MessageHistory, Messages],
    onDone: () => toast({ text: 'The message is canceled and its cost refunded.' }),
  });
  return (
    <>
      <Can
        run="message.sendSms"
        otherwise={<span className="quiet">Your role can read messages, not send or cancel them.</span>}
      >
        <ButtonLink href={`/messages/send?from=${message.id}`}>Resend</ButtonLink>
      </Can>
      {mayCancel && message.status === 'PENDING' && (
        <ConfirmButton
          title="Cancel this message?"
          consequence={
            <p>
              Nobody gets it, and <Money amount={message.cost} currency={message.currency} /> go back to the
              balance. A message that a carrier is already taking cannot be canceled any more.
            </p>
          }
          confirmLabel="Cancel the message"
          onConfirm={() => cancel.mutateAsync({ id: message.id })}
        >
          Cancel
        </ConfirmButton>
      )}
    </>
  );
}
