import type { ReactNode } from 'react';
import { Link, useLocation, useParams } from 'wouter';
import { useInEnvironment } from '../../lib/environment.ts';
import { formatName } from '../../lib/format.ts';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { useIsOperator, usePermission, useViewer } from '../../lib/session.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Id } from '../../ui/code.tsx';
import { ConfirmButton } from '../../ui/confirm-button.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { Notice } from '../../ui/notice.tsx';
import { Loaded } from '../../ui/states.tsx';
import { useToast } from '../../ui/toast.tsx';
import { KeyValues, Time } from '../../ui/values.tsx';
import { Records } from './records.tsx';
import { RegistrationForm, Registrations } from './registrations.tsx';
import { Review } from './review.tsx';
import { CHANNEL_NAMES, nameOf, nextStepOf, purposesText, toneOf } from './sender-text.ts';
import {
  AccountOfSender,
  RemoveSender,
  SenderDetail,
  type SenderRowFragment,
  Senders,
} from './senders.generated.ts';

/** The page of one sender: its state and what to do next, its networks or DNS records, and the operator's answer. */
export default function SenderPage() {
  const { id } = useParams<{ id: string }>();
  const query = useApiQuery(SenderDetail, { id });
  return <Loaded query={query}>{({ sender }) => <Detail key={sender.id} of={sender} />}</Loaded>;
}

function Detail({ of: sender }: { of: SenderRowFragment }) {
  const isOperator = useIsOperator();
  const mayChange = usePermission('sender.remove');
  const mayReview = usePermission('sender.review');
  const { role } = useViewer();
  return (
    <>
      <PageHeader title={nameOf(sender)}>
        <Badge status={sender.status} />
        {mayChange && <Remove of={sender} />}
      </PageHeader>
      {!mayChange && !mayReview && (
        <Notice>
          Your role, {formatName(role)}, can read this sender, not {isOperator ? 'review' : 'change'} it.
        </Notice>
      )}
      {!isOperator && <Notice tone={toneOf(sender)}>{nextStepOf(sender)}</Notice>}
      <div className="columns">
        <section className="card stack" aria-labelledby="facts">
          <h2 id="facts">The sender</h2>
          <KeyValues items={factsOf(sender, isOperator)} />
        </section>
        {mayReview && <Review of={sender} />}
        {sender.channel === 'SMS' &&
          (mayReview ? <RegistrationForm of={sender} /> : <Registrations of={sender.registrations} />)}
      </div>
      {sender.channel === 'EMAIL' && sender.environment === 'PRODUCTION' && <Records of={sender} />}
    </>
  );
}

function factsOf(sender: SenderRowFragment, isOperator: boolean): readonly (readonly [string, ReactNode])[] {
  const { id, accountId, channel, environment, purposes, useCase, company, note } = sender;
  return [
    ...(isOperator ? [['Account', <AccountName key="account" id={accountId} />] as const] : []),
    ['Kind', CHANNEL_NAMES[channel]],
    ['Environment', formatName(environment)],
    ...(channel === 'SMS' ? [['Purposes', purposesText(purposes)] as const] : []),
    ...(useCase === null ? [] : [['What is sent', useCase] as const]),
    ...(company === null ? [] : [['Company', company] as const]),
    ['Requested', <Time key="requested" at={sender.createdAt} />],
    ...(channel === 'EMAIL'
      ? [['Verified', <Time key="verified" at={sender.verifiedAt} otherwise="not yet" />] as const]
      : []),
    ...(channel === 'SMS' || sender.reviewedAt !== null
      ? [['Answered', <Time key="reviewed" at={sender.reviewedAt} otherwise="not yet" />] as const]
      : []),
    ...(note === null ? [] : [['Answer of the operator', note] as const]),
    ['Sender id', <Id key="id" of={id} label="Sender id" />],
  ];
}

/** The name of the account that requested the sender, as a link to its page. Only operators see it. */
function AccountName({ id }: { id: string }) {
  const { data } = useApiQuery(AccountOfSender, { id });
  const names = new Set(data && [data.account.name, data.account.email]);
  return <Link href={`/accounts/${id}`}>{[...names].join(', ') || id}</Link>;
}

function Remove({ of }: { of: SenderRowFragment }) {
  const toast = useToast();
  const [, navigate] = useLocation();
  const inEnvironment = useInEnvironment();
  const remove = useApiMutation(RemoveSender, {
    refetches: [Senders],
    onDone: () => {
      toast({ text: `${nameOf(of)} is removed.` });
      navigate(inEnvironment('/senders'));
    },
  });
  return (
    <ConfirmButton
      title={`Remove ${nameOf(of)}?`}
      consequence={`Where senders must be approved, messages from it are refused from now on. ${
        of.channel === 'SMS'
          ? 'To use it again, you request it again and wait for a new review.'
          : 'To use it again, you add it again and publish a new verification record.'
      }`}
      confirmLabel="Remove it"
      onConfirm={() => remove.mutateAsync({ id: of.id })}
    >
      Remove
    </ConfirmButton>
  );
}
