import { CircleAlert, CircleCheck, Clock } from 'lucide-react';
import { counted } from '../../lib/counts.ts';
import { formatName } from '../../lib/format.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { Can } from '../../lib/session.tsx';
import { language, t } from '../../lib/words.ts';
import { Loaded } from '../../ui/states.tsx';
import type { Message } from './message-text.ts';
import { MessageReason } from './messages.generated.ts';
import { ResendAsItWas } from './resend-as-it-was.tsx';
import { ResendFailed } from './resend-failed.tsx';

/** Why a message is as it is, in plain words, and what can be done. It comes first on the page of a message. */
export function Reason({ of: message }: { of: Message }) {
  const query = useApiQuery(MessageReason, { id: message.id });
  const { failed, pending, sent } = message.recipientCounts;
  const tone = failed > 0 ? 'bad' : pending + sent > 0 ? 'wait' : 'good';
  const Icon = { bad: CircleAlert, wait: Clock, good: CircleCheck }[tone];
  return (
    <section className={`card reason reason-${tone}`} aria-labelledby="message-reason">
      <h2 id="message-reason" className="visually-hidden">
        {t('Why it is so')}
      </h2>
      <Icon className="icon" aria-hidden="true" />
      <div className="stack">
        <Loaded query={query}>
          {({ explainMessage: { causes, actions } }) => (
            <>
              {mostUrgentFirst(causes).map(({ cause, text, recipients }) => (
                <p key={cause}>
                  {causes.length > 1 && <strong>{counted(recipients, 'recipient')}: </strong>}
                  <Named name={cause} />
                  <span lang="en">{text}</span>
                </p>
              ))}
              {actions.length > 0 && (
                <ul className="reason-actions">
                  {actions.map(({ action, text }) => (
                    <li key={`${action} ${text}`}>
                      <Named name={action} />
                      <span lang="en">{text}</span>
                    </li>
                  ))}
                </ul>
              )}
            </>
          )}
        </Loaded>
        {failed > 0 && message.channel !== 'PUSH' && message.content !== '' && (
          <div className="row">
            <Can
              run="message.sendSms"
              otherwise={
                <Can run="message.resend">
                  <ResendAsItWas of={message} onlyFailed />
                </Can>
              }
            >
              <ResendFailed of={message} />
            </Can>
          </div>
        )}
      </div>
    </section>
  );
}

/** In other languages, the name of a cause or an action. The sentences come from the API, which speaks English. */
function Named({ name }: { name: string }) {
  if (language === 'en') return null;
  return <strong>{t('{name}:', { name: formatName(name) })} </strong>;
}

/** Puts what was delivered last, because nobody has to act on it. */
function mostUrgentFirst<Given extends { readonly cause: string }>(
  causes: readonly Given[],
): readonly Given[] {
  const isDone = ({ cause }: Given) => cause === 'DELIVERED';
  return [...causes.filter((each) => !isDone(each)), ...causes.filter(isDone)];
}
