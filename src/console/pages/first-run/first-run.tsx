import { useState } from 'react';
import { Link } from 'wouter';
import { useLiveRefetch } from '../../lib/live-refetch.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { Session } from '../../lib/session.generated.ts';
import { t } from '../../lib/words.ts';
import { ButtonLink } from '../../ui/button.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { Notice } from '../../ui/notice.tsx';
import { Loaded } from '../../ui/states.tsx';
import { T } from '../../ui/t.tsx';
import { FirstRun, FirstRunDeliveries, FirstRunMessages } from './first-run.generated.ts';
import { KeyStep } from './key-step.tsx';
import { type FirstRunData, progressOf } from './progress.ts';
import { ReceiveStep } from './receive-step.tsx';
import { SendStep } from './send-step.tsx';
import { WebhookStep } from './webhook-step.tsx';
import './first-run.css';

/** Interval, in ms, at which a step asks for a new key or webhook. Neither has live updates. */
const ASK_EVERY_MS = 2_000;

/**
 * Leads from an empty account to a delivered message and a received webhook. Each step has a button and a shell
 * command.
 */
export default function FirstRunPage() {
  const query = useApiQuery(FirstRun, {});
  useLiveRefetch(FirstRunMessages, {}, [FirstRun, Session]);
  useLiveRefetch(FirstRunDeliveries, {}, [FirstRun]);
  return (
    <>
      <PageHeader title={t('First steps')}>
        <ButtonLink href="/">{t('Overview')}</ButtonLink>
      </PageHeader>
      <Loaded query={query}>{(data) => <Steps data={data} />}</Loaded>
    </>
  );
}

function Steps({ data }: { data: FirstRunData }) {
  const [apiKey, setApiKey] = useState('');
  const progress = progressOf(data, new Date());
  const isWaiting = progress.key === undefined || progress.webhook === undefined;
  useApiQuery(FirstRun, {}, isWaiting ? { refetchEveryMs: ASK_EVERY_MS } : {});
  const { simulatorReceiverUrl, webhookHeaders } = data;
  return (
    <>
      <p>
        {t(
          'Four steps to a delivered message and a received webhook. Take each by its button, or with code: this page sees it either way.',
        )}
      </p>
      <p role="status">
        <T text="{done} of 4 done" done={progress.done} />
      </p>
      <KeyStep progress={progress} known={apiKey} onKnown={setApiKey} />
      <WebhookStep progress={progress} apiKey={apiKey} simulatorUrl={simulatorReceiverUrl} />
      <SendStep progress={progress} apiKey={apiKey} isSimulated={simulatorReceiverUrl !== null} />
      <ReceiveStep progress={progress} apiKey={apiKey} headers={webhookHeaders} />
      {progress.done === 4 && (
        <Notice tone="good">
          <T
            text="It works from end to end. What your account does is on the <overview>overview</overview>, and what the API can do in its <reference>reference</reference>."
            overview={<Link href="/" />}
            reference={<a href="/docs" />}
          />
        </Notice>
      )}
    </>
  );
}
