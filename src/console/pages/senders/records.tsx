import { useApiMutation } from '../../lib/queries.ts';
import { usePermission } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/code.tsx';
import { Notice } from '../../ui/notice.tsx';
import { T } from '../../ui/t.tsx';
import { useToast } from '../../ui/toast.tsx';
import { KeyValues, Time } from '../../ui/values.tsx';
import {
  SenderDetail,
  type SenderRowFragment,
  Senders,
  VerifySender,
  type VerifySenderMutation,
} from './senders.generated.ts';

type Sender = SenderRowFragment;
type DnsRecord = Sender['records'][number];

const KINDS: Readonly<{ [Kind in DnsRecord['kind']]: { readonly title: string; readonly why: string } }> = {
  VERIFICATION: { title: t('Verification'), why: t('Proves that the domain is yours. Mails need it.') },
  DKIM: { title: 'DKIM', why: t('With it the gateway signs your mails for this domain.') },
  SPF: {
    title: 'SPF',
    why: t(
      'Admits the mail servers of the gateway. A domain has one SPF record: if it has one already, add the part that begins with “include:” to it.',
    ),
  },
};

/** The DNS records of a domain: how they should be, how the last check found them, and a button to check them now. */
export function Records({ of: sender }: { of: Sender }) {
  return (
    <section className="stack" aria-labelledby="records">
      <h2 id="records">{t('DNS records')}</h2>
      <p>
        <T
          text="Publish each as a TXT record where the DNS of the domain is managed. Last check: {time}."
          time={<Time at={sender.checkedAt} />}
        />
      </p>
      <CheckNow of={sender} />
      {sender.records.map((record) => (
        <RecordCard key={record.kind} of={record} isChecked={sender.checkedAt !== null} />
      ))}
    </section>
  );
}

/** Reads the DNS now. A rejected domain stays rejected, so there the button would help nothing. */
function CheckNow({ of: { id, status } }: { of: Sender }) {
  const toast = useToast();
  const mayVerify = usePermission('sender.verify');
  const verify = useApiMutation(VerifySender, {
    refetches: [SenderDetail, Senders],
    onDone: ({ verifySender }) => toast({ text: resultOf(verifySender) }),
  });
  if (!mayVerify || status === 'REJECTED') return null;
  return (
    <>
      <div className="row">
        <Button look="primary" isBusy={verify.isPending} onClick={() => verify.mutate({ id })}>
          {t('Check now')}
        </Button>
      </div>
      {verify.error && <Notice tone="bad">{verify.error.message}</Notice>}
    </>
  );
}

function resultOf({ status, records }: VerifySenderMutation['verifySender']): string {
  if (status === 'PENDING') return t('The domain is not verified yet.');
  const count = records.filter(({ isRight }) => !isRight).length;
  if (count === 0) return t('The domain is verified, and all its records are right.');
  return t(
    'The domain is verified. {count, plural, one {One record is not right yet.} other {# records are not right yet.}}',
    { count },
  );
}

function RecordCard({ of: record, isChecked }: { of: DnsRecord; isChecked: boolean }) {
  const { title, why } = KINDS[record.kind];
  const heading = `record-${record.kind}`;
  return (
    <section className="card stack" aria-labelledby={heading}>
      <div className="row">
        <h3 id={heading}>{title}</h3>
        <State of={record} isChecked={isChecked} />
      </div>
      <p>{why}</p>
      <KeyValues
        items={[
          [t('Type'), 'TXT'],
          [
            t('Name'),
            <CodeBlock key="name" text={record.name} label={t('name of the {title} record', { title })} />,
          ],
          [
            t('Text'),
            <CodeBlock
              key="text"
              text={record.expected}
              label={t('text of the {title} record', { title })}
            />,
          ],
          ...(isChecked ? [[t('Found'), <Found key="found" of={record} />] as const] : []),
        ]}
      />
    </section>
  );
}

function State({ of: { isRight, found }, isChecked }: { of: DnsRecord; isChecked: boolean }) {
  if (!isChecked) return <Badge status="UNCHECKED">{t('Not checked yet')}</Badge>;
  if (isRight) return <Badge status="DONE">{t('Right')}</Badge>;
  if (found.length === 0) return <Badge status="PENDING">{t('Not found')}</Badge>;
  return <Badge status="FAILED">{t('Not right')}</Badge>;
}

function Found({ of: { found } }: { of: DnsRecord }) {
  if (found.length === 0) return <span className="quiet">{t('nothing under this name')}</span>;
  return (
    <div className="stack">
      {[...new Set(found)].map((text) => (
        <code key={text}>{text}</code>
      ))}
    </div>
  );
}
