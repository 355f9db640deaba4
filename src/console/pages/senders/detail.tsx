import type { ReactNode } from 'react';
import { Link, useLocation, useParams } from 'wouter';
import { useInEnvironment } from '../../lib/environment.ts';
import { formatName } from '../../lib/format.ts';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { useIsOperator, usePermission, useViewer } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
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
import { RemoveSender, SenderDetail, type SenderRowFragment, Senders } from './senders.generated.ts';

/** The page of one sender: its state and what to do next, its networks or DNS records, and the operator's answer. */
export default function SenderPage() {
  const { id } = useParams<{ id: string }>();
  const query = useApiQuery(SenderDetail, { id });
  return <Loaded query={query}>{({ sender }) => <Detail key={sender.id} of={sender} />}</Loaded>;
}

function Detail({ of: sender }: { of: SenderRowFragment }) {
  const isOperator = useIsOperator();
  // Operators assign WhatsApp numbers on the page of the account.
  const isNumber = sender.channel === 'WHATSAPP';
  const mayChange = usePermission('sender.remove') && !isNumber;
  const mayReview = usePermission('sender.review') && !isNumber;
  const { role } = useViewer();
  return (
    <>
      <PageHeader title={nameOf(sender)}>
        <Badge status={sender.status} />
        {mayChange && <Remove of={sender} />}
      </PageHeader>
      {!mayChange && !mayReview && !isNumber && (
        <Notice>
          {isOperator
            ? t('Your role, {role}, can read this sender, not review it.', { role: formatName(role) })
            : t('Your role, {role}, can read this sender, not change it.', { role: formatName(role) })}
        </Notice>
      )}
      {!isOperator && <Notice tone={toneOf(sender)}>{nextStepOf(sender)}</Notice>}
      <div className="columns">
        <section className="card stack" aria-labelledby="facts">
          <h2 id="facts">{t('The sender')}</h2>
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
  const { id, account, channel, environment, purposes, useCase, company, note, phoneNumberId } = sender;
  return [
    ...(isOperator ? [[t('Account'), <AccountName key="account" of={account} />] as const] : []),
    [t('Kind'), CHANNEL_NAMES[channel]],
    [t('Environment'), formatName(environment)],
    ...(channel === 'SMS' ? [[t('Purposes'), purposesText(purposes)] as const] : []),
    ...(phoneNumberId === null ? [] : [[t('Phone number ID'), phoneNumberId] as const]),
    ...(useCase === null ? [] : [[t('What is sent'), useCase] as const]),
    ...(company === null ? [] : [[t('Company'), company] as const]),
    [channel === 'WHATSAPP' ? t('Assigned') : t('Requested'), <Time key="requested" at={sender.createdAt} />],
    ...(channel === 'EMAIL'
      ? [[t('Verified'), <Time key="verified" at={sender.verifiedAt} otherwise={t('not yet')} />] as const]
      : []),
    ...(channel === 'SMS' || (channel === 'EMAIL' && sender.reviewedAt !== null)
      ? [[t('Answered'), <Time key="reviewed" at={sender.reviewedAt} otherwise={t('not yet')} />] as const]
      : []),
    ...(note === null ? [] : [[t('Answer of the operator'), note] as const]),
    [t('Sender id'), <Id key="id" of={id} label={t('Sender id')} />],
  ];
}

/** The account that requested the sender, as a link to its page. Only operators see it. */
function AccountName({ of: account }: { of: SenderRowFragment['account'] }) {
  if (account === null) return '–';
  const names = new Set([account.name, account.email]);
  return <Link href={`/accounts/${account.id}`}>{[...names].join(', ')}</Link>;
}

function Remove({ of }: { of: SenderRowFragment }) {
  const toast = useToast();
  const [, navigate] = useLocation();
  const inEnvironment = useInEnvironment();
  const remove = useApiMutation(RemoveSender, {
    refetches: [Senders],
    onDone: () => {
      toast({ text: t('{name} is removed.', { name: nameOf(of) }) });
      navigate(inEnvironment('/senders'));
    },
  });
  return (
    <ConfirmButton
      title={t('Remove {name}?', { name: nameOf(of) })}
      consequence={`${t('Where senders must be approved, messages from it are refused from now on.')} ${
        of.channel === 'SMS'
          ? t('To use it again, you request it again and wait for a new review.')
          : t('To use it again, you add it again and publish a new verification record.')
      }`}
      confirmLabel={t('Remove it')}
      onConfirm={() => remove.mutateAsync({ id: of.id })}
    >
      {t('Remove')}
    </ConfirmButton>
  );
}
