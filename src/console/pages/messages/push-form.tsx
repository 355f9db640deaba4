import { useState } from 'react';
import { useApiMutation } from '../../lib/queries.ts';
import { request } from '../../lib/request.ts';
import { t } from '../../lib/words.ts';
import { Field, Select, TextArea } from '../../ui/field.tsx';
import { textOf } from '../../ui/form.tsx';
import { balanceNow } from './bill.ts';
import { ChannelPrice } from './price.tsx';
import { listOf, RecipientsField, type Understood, useUnderstood } from './recipients-field.tsx';
import { type Again, jsonIn, listIn, ofChannel, parseJson, textIn } from './resend.ts';
import { PriceOfPush, type PushPriority, SendPush, type SendPushInput } from './send.generated.ts';
import { type SendCommon, SendForm } from './send-form.tsx';

const PRIORITIES = [
  { value: 'HIGH', label: t('High: at once, waking the device') },
  { value: 'NORMAL', label: t('Normal: when it suits the device') },
];

/** Parses a list of user ids. The account chooses its own ids, so any text is valid. */
function parseUsers(list: string): Understood {
  const ids = list.split(', ').filter((id) => id !== '');
  const valid = [...new Set(ids)];
  return { valid, invalid: [], duplicatesRemoved: ids.length - valid.length };
}

/** The form that sends a push notification to users, devices, or both. */
export function PushForm({ again }: { again: Again | undefined }) {
  const before = ofChannel(again, 'PUSH');
  const [to, setTo] = useState(listIn(before?.payload, 'userIds'));
  const understood = useUnderstood(to, parseUsers);
  const send = useApiMutation(SendPush);
  const inputOf = (values: FormData, common: SendCommon): SendPushInput => {
    const given = (name: string) => textOf(values, name) || null;
    const deviceIds = listOf(textOf(values, 'deviceIds'));
    const ttl = given('ttlSeconds');
    return {
      ...common,
      to: listOf(to) || null,
      deviceIds: deviceIds === '' ? null : deviceIds.split(', '),
      title: textOf(values, 'title'),
      body: textOf(values, 'body'),
      data: parseJson('data', textOf(values, 'data'), 'object'),
      imageUrl: given('imageUrl'),
      clickUrl: given('clickUrl'),
      collapseKey: given('collapseKey'),
      ttlSeconds: ttl === null ? null : Number(ttl),
      priority: textOf(values, 'priority') as PushPriority,
    };
  };
  return (
    <SendForm
      label={t('Send a push notification')}
      environment={before?.environment}
      purpose={before?.purpose}
      price={(environment) => (
        <ChannelPrice channel="PUSH" environment={environment} count={undefined} noun="device" />
      )}
      // Only the gateway knows how many devices the users have.
      billOf={async (values, common) => {
        const [priced, account] = await Promise.all([
          request(PriceOfPush, { input: inputOf(values, common) }),
          balanceNow(),
        ]);
        const { recipientCounts, cost } = priced.sendPush;
        const { pending, sent, delivered, failed } = recipientCounts;
        return { recipients: pending + sent + delivered + failed, cost, ...account };
      }}
      send={async (values, common) => (await send.mutateAsync({ input: inputOf(values, common) })).sendPush}
    >
      <RecipientsField
        value={to}
        onChange={setTo}
        understood={understood}
        noun="user"
        hint={t('Ids of your users, one a line or separated by commas. All their devices get it.')}
      />
      <TextArea
        name="deviceIds"
        label={t('Devices')}
        rows={2}
        hint={t('Ids of single devices, instead of users or beside them.')}
        defaultValue={listIn(before?.payload, 'deviceIds')}
      />
      <Field name="title" label={t('Title')} defaultValue={textIn(before?.payload, 'title')} />
      <TextArea name="body" label={t('Text')} rows={3} defaultValue={before?.content} />
      <details className="message-more">
        <summary>{t('Data, picture, link and delivery')}</summary>
        <div className="stack">
          <TextArea
            name="data"
            label={t('Data for the app')}
            rows={3}
            hint={t('JSON such as {example}.', { example: '{"order": "42"}' })}
            spellCheck={false}
            defaultValue={jsonIn(before?.payload, 'data')}
          />
          <Field
            name="imageUrl"
            label={t('Picture')}
            type="url"
            hint={t('Its address.')}
            defaultValue={textIn(before?.payload, 'imageUrl')}
          />
          <Field
            name="clickUrl"
            label={t('A click opens')}
            hint={t('An address, also one of your app.')}
            defaultValue={textIn(before?.payload, 'clickUrl')}
          />
          <Field
            name="collapseKey"
            label={t('Collapse key')}
            hint={t('A later notification with the same key replaces this one.')}
            defaultValue={textIn(before?.payload, 'collapseKey')}
          />
          <Field
            name="ttlSeconds"
            label={t('Keep for, in seconds')}
            type="number"
            min={0}
            hint={t('How long the platform may keep it for a device out of reach.')}
            defaultValue={textIn(before?.payload, 'ttlSeconds')}
          />
          <Select
            name="priority"
            label={t('Priority')}
            options={PRIORITIES}
            defaultValue={textIn(before?.payload, 'priority').toUpperCase() || 'HIGH'}
          />
        </div>
      </details>
    </SendForm>
  );
}
