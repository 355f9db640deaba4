import { useState } from 'react';
import { parseAddresses } from '../../../domain/messages/email-address.ts';
import { useApiMutation } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Field, TextArea } from '../../ui/field.tsx';
import { linesOf, textOf } from '../../ui/form.tsx';
import { Notice } from '../../ui/notice.tsx';
import { AttachmentsField, attachmentsOf } from './attachments.tsx';
import { channelBill } from './bill.ts';
import { ChannelPrice } from './price.tsx';
import { listOf, RecipientsField, useUnderstood } from './recipients-field.tsx';
import { type Again, listIn, ofChannel, textIn } from './resend.ts';
import { SendEmail } from './send.generated.ts';
import { fieldFault, SendForm } from './send-form.tsx';

/** The form that sends an email with text, HTML or both, and with attachments. */
export function EmailForm({ again }: { again: Again | undefined }) {
  const before = ofChannel(again, 'EMAIL');
  const [to, setTo] = useState(before?.to.join(', ') ?? '');
  const understood = useUnderstood(to, parseAddresses);
  const send = useApiMutation(SendEmail);
  return (
    <SendForm
      label={t('Send an email')}
      environment={before?.environment}
      purpose={before?.purpose}
      price={(environment) => (
        <ChannelPrice
          channel="EMAIL"
          environment={environment}
          count={understood.valid.length}
          noun="recipient"
        />
      )}
      billOf={async () =>
        understood.valid.length > 1 ? channelBill('EMAIL', understood.valid.length) : undefined
      }
      send={async (values, common) => {
        const given = (name: string) => textOf(values, name) || null;
        const result = await send.mutateAsync({
          input: {
            ...common,
            to: listOf(to),
            subject: textOf(values, 'subject'),
            text: String(values.get('text')) || null,
            html: String(values.get('html')) || null,
            from: given('from'),
            replyTo: given('replyTo'),
            cc: given('cc'),
            bcc: given('bcc'),
            headers: headersOf(linesOf(values, 'headers')),
            attachments: await attachmentsOf(values),
          },
        });
        return result.sendEmail;
      }}
    >
      {before && (
        <Notice>
          {t('Filled with what lists keep of the earlier email: its HTML and its files must be added again.')}
        </Notice>
      )}
      <RecipientsField
        value={to}
        onChange={setTo}
        understood={understood}
        noun="address"
        hint={t(
          'Email addresses, one a line or separated by commas; at most 50. Each gets a mail of its own.',
        )}
      />
      <Field name="subject" label={t('Subject')} defaultValue={textIn(before?.payload, 'subject')} />
      <TextArea name="text" label={t('Text')} rows={6} defaultValue={before?.content} />
      <TextArea
        name="html"
        label={t('HTML')}
        rows={4}
        hint={t('Beside the text, or instead of it.')}
        spellCheck={false}
      />
      <AttachmentsField />
      <details className="message-more">
        <summary>{t('Sender, copies and headers')}</summary>
        <div className="stack">
          <Field
            name="from"
            label={t('Sender')}
            hint={t("Empty: the gateway's own.")}
            defaultValue={before?.from}
          />
          <Field
            name="replyTo"
            label={t('Answers go to')}
            defaultValue={textIn(before?.payload, 'replyTo')}
          />
          <Field
            name="cc"
            label={t('Copies to')}
            hint={t('They get a copy of the first mail.')}
            defaultValue={listIn(before?.payload, 'cc')}
          />
          <Field
            name="bcc"
            label={t('Hidden copies to')}
            hint={t('As above, unseen by the others.')}
            defaultValue={listIn(before?.payload, 'bcc')}
          />
          <TextArea
            name="headers"
            label={t('Further headers')}
            rows={2}
            hint={t('One a line, such as X-Campaign: spring.')}
            defaultValue={headerLines(before?.payload?.headers)}
          />
        </div>
      </details>
    </SendForm>
  );
}

function headersOf(lines: readonly string[]): Record<string, string> | null {
  if (lines.length === 0) return null;
  return Object.fromEntries(
    lines.map((line) => {
      const [, name, value] = /^([^:\s]+):\s*(.*)$/.exec(line) ?? [];
      if (name === undefined || value === undefined) {
        throw fieldFault('headers', t('“{line}” is no header; write Name: value', { line }));
      }
      return [name, value];
    }),
  );
}

function headerLines(headers: unknown): string {
  if (typeof headers !== 'object' || headers === null) return '';
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');
}
