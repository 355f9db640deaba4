import { type ReactNode, useState } from 'react';
import { parseMsisdn } from '../../../domain/messages/msisdn.ts';
import { useApiMutation } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { Checkbox, Field, Select, TextArea } from '../../ui/field.tsx';
import { textOf } from '../../ui/form.tsx';
import { Notice } from '../../ui/notice.tsx';
import { ChannelPrice } from './price.tsx';
import { type Again, jsonIn, ofChannel, parseJson, textIn } from './resend.ts';
import { type MessageType, SendWhatsApp, type SendWhatsAppInput } from './send.generated.ts';
import { SendForm } from './send-form.tsx';

const TYPES = [
  { value: 'TEXT', label: t('Text') },
  { value: 'TEMPLATE', label: t('Template') },
  { value: 'MEDIA', label: t('Picture, video, sound or document') },
];
const FIELD_NAMES = {
  text: 'textBody',
  'text.body': 'textBody',
  template: 'templateName',
  'template.name': 'templateName',
  'template.language': 'templateLanguage',
  'template.components': 'components',
  media: 'mediaUrl',
  'media.url': 'mediaUrl',
  'media.caption': 'caption',
};

/** The form that sends a WhatsApp message to one number: free text, an approved template, or a file. */
export function WhatsAppForm({ again }: { again: Again | undefined }) {
  const before = ofChannel(again, 'WHATSAPP');
  const payload = before?.payload;
  const [to, setTo] = useState(before?.to[0] ?? '');
  const [type, setType] = useState<MessageType>(
    (textIn(payload, 'type').toUpperCase() || 'TEXT') as MessageType,
  );
  const number = parseMsisdn(to.trim());
  const send = useApiMutation(SendWhatsApp);
  return (
    <SendForm
      label={t('Send a WhatsApp message')}
      environment={before?.environment}
      purpose={before?.purpose}
      fieldNames={FIELD_NAMES}
      explain={({ code }) =>
        code === 'SESSION_WINDOW_CLOSED' && <WindowClosed onTemplate={() => setType('TEMPLATE')} />
      }
      price={(environment) => (
        <ChannelPrice
          channel="WHATSAPP"
          environment={environment}
          destination={number ?? ''}
          count={number ? 1 : 0}
          noun="recipient"
        />
      )}
      send={async (values, common) => {
        const result = await send.mutateAsync({
          input: { ...common, to: to.trim(), type, ...contentOf(type, values) },
        });
        return result.sendWhatsApp;
      }}
    >
      <Field
        name="to"
        label={t('To')}
        type="tel"
        value={to}
        onChange={(event) => setTo(event.currentTarget.value)}
        hint={
          to.trim() === ''
            ? t('One phone number.')
            : number
              ? t('Understood as {number}.', { number })
              : t('This number is not valid yet.')
        }
      />
      <Select
        name="type"
        label={t('Type')}
        options={TYPES}
        value={type}
        onChange={(event) => setType(event.currentTarget.value as MessageType)}
        hint={
          type === 'TEMPLATE'
            ? t('Approved by WhatsApp beforehand; it can be sent at any time.')
            : t("Only within 24 hours of the recipient's last message to you; a template at any time.")
        }
      />
      <Part isShown={type === 'TEXT'}>
        <TextArea name="textBody" label={t('Text')} rows={4} defaultValue={textIn(payload, 'body')} />
        <Checkbox
          name="previewUrl"
          label={t('Show a preview of the first link')}
          defaultChecked={payload?.previewUrl === true}
        />
      </Part>
      <Part isShown={type === 'TEMPLATE'}>
        <Field name="templateName" label={t('Name of the template')} defaultValue={textIn(payload, 'name')} />
        <Field
          name="templateLanguage"
          label={t('Language')}
          hint={t('Such as en or en_US.')}
          defaultValue={textIn(payload, 'language')}
        />
        <TextArea
          name="components"
          label={t('What fills it')}
          rows={5}
          spellCheck={false}
          hint={t('JSON such as {example}.', {
            example: '[{"type": "body", "parameters": [{"type": "text", "text": "Ann"}]}]',
          })}
          defaultValue={jsonIn(payload, 'components')}
        />
      </Part>
      <Part isShown={type === 'MEDIA'}>
        <Field
          name="mediaUrl"
          label={t('Address of the file')}
          type="url"
          hint={t('WhatsApp fetches it from there.')}
          defaultValue={textIn(payload, 'url')}
        />
        <Field name="caption" label={t('Text under it')} defaultValue={textIn(payload, 'caption')} />
      </Part>
    </SendForm>
  );
}

/**
 * The fields of one message type. They are hidden, not removed, while another type is chosen, so that they keep their
 * input.
 */
function Part({ isShown, children }: { isShown: boolean; children: ReactNode }) {
  return (
    <div hidden={!isShown}>
      <div className="stack">{children}</div>
    </div>
  );
}

function contentOf(
  type: MessageType,
  values: FormData,
): Pick<SendWhatsAppInput, 'text' | 'template' | 'media'> {
  switch (type) {
    case 'TEXT':
      return { text: { body: textOf(values, 'textBody'), previewUrl: values.has('previewUrl') } };
    case 'TEMPLATE':
      return {
        template: {
          name: textOf(values, 'templateName'),
          language: textOf(values, 'templateLanguage'),
          components: parseJson('components', textOf(values, 'components'), 'array'),
        },
      };
    case 'MEDIA':
      return { media: { url: textOf(values, 'mediaUrl'), caption: textOf(values, 'caption') || null } };
  }
}

function WindowClosed({ onTemplate }: { onTemplate: () => void }) {
  return (
    <Notice tone="warn">
      <p>
        {t(
          'WhatsApp lets a business write freely for 24 hours after each message that the person sent to it. Outside of that only a template reaches them; when they answer it, the 24 hours begin anew.',
        )}
      </p>
      <Button onClick={onTemplate}>{t('Send a template instead')}</Button>
    </Notice>
  );
}
