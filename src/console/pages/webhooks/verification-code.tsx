import { useApiQuery } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { CodeBlock } from '../../ui/code.tsx';
import { Loaded } from '../../ui/states.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { verifications } from './verification.ts';
import { WebhookHeaders } from './webhooks.generated.ts';

/** Shows code that verifies the signature of a delivery, in the languages of docs/guides/webhooks.md. */
export function VerificationCode() {
  const headers = useApiQuery(WebhookHeaders, {});
  return (
    <Loaded query={headers}>
      {({ webhookHeaders }) => (
        <Tabs
          label={t('Languages')}
          tabs={verifications(webhookHeaders).map(({ language, code, note }) => ({
            label: language,
            content: (
              <div className="stack">
                <CodeBlock text={code} label={t('{language} code', { language })} />
                <p>{withCode(note)}</p>
              </div>
            ),
          }))}
        />
      )}
    </Loaded>
  );
}

function withCode(text: string) {
  // The parts with an odd index were between backquotes, so they are code.
  return text.split('`').map((part, index) => (index % 2 === 1 ? <code key={part}>{part}</code> : part));
}
