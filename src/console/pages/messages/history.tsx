import { useState } from 'react';
import { useApiQuery } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/code.tsx';
import { DataTable } from '../../ui/data-table.tsx';
import { Dialog, DialogActions } from '../../ui/dialog.tsx';
import { Loaded } from '../../ui/states.tsx';
import { T } from '../../ui/t.tsx';
import { ExactTime, Time } from '../../ui/values.tsx';
import { LocalPages } from './local-pages.tsx';
import { MessageHistory, MessagePayloads } from './messages.generated.ts';

/** The timeline of a message: what happened when. */
export function Timeline({ id }: { id: string }) {
  const query = useApiQuery(MessageHistory, { id });
  return (
    <section className="card stack" aria-labelledby="message-timeline">
      <h2 id="message-timeline">{t('Timeline')}</h2>
      <Loaded query={query}>
        {({ message: { timeline } }) =>
          timeline.length === 0 ? (
            <p className="quiet">{t('Nothing has happened yet.')}</p>
          ) : (
            <LocalPages label={t('Timeline')} rows={timeline} pageSize={10}>
              {(page) => (
                <ol className="message-timeline">
                  {page.map(({ at, status, recipient, detail }, index) => (
                    // biome-ignore lint/suspicious/noArrayIndexKey: entries have no name of their own and keep their order
                    <li key={`${at} ${index}`}>
                      <span className="quiet">
                        <ExactTime at={at} />
                      </span>
                      <span className="row">
                        <Badge status={status.toUpperCase()} />
                        {recipient && <span>{recipient}</span>}
                        {detail && <span className="quiet">{detail}</span>}
                      </span>
                    </li>
                  ))}
                </ol>
              )}
            </LocalPages>
          )
        }
      </Loaded>
    </section>
  );
}

/** The events of a message, each with the envelope that webhooks receive. */
export function Events({ id }: { id: string }) {
  const query = useApiQuery(MessageHistory, { id });
  return (
    <section className="stack" aria-labelledby="message-events">
      <h2 id="message-events">{t('Events')}</h2>
      <Loaded query={query}>
        {({ message: { events } }) =>
          events.length === 0 ? (
            <p className="quiet">{t('None yet. Webhooks receive events as the message progresses.')}</p>
          ) : (
            <LocalPages
              label={t('Events')}
              rows={events.map((event, index) => ({ ...event, index }))}
              pageSize={20}
            >
              {(page) => (
                <DataTable
                  caption={t('Events for subscribed webhooks, in order')}
                  rows={page}
                  keyOf={({ index }) => String(index)}
                  columns={[
                    { header: t('Event'), cell: ({ type }) => <code>{type}</code> },
                    { header: t('Recorded'), cell: ({ recordedAt }) => <Time at={recordedAt} /> },
                    {
                      header: t('Payload'),
                      cell: ({ index, type }) => <Payload id={id} index={index} type={type} />,
                    },
                  ]}
                />
              )}
            </LocalPages>
          )
        }
      </Loaded>
    </section>
  );
}

/** Shows one envelope. It loads the envelopes only when it is opened, because those of 1,000 events are large. */
function Payload({ id, index, type }: { id: string; index: number; type: string }) {
  const [isOpen, setIsOpen] = useState(false);
  const query = useApiQuery(MessagePayloads, { id }, { isEnabled: isOpen });
  const close = () => setIsOpen(false);
  return (
    <>
      <Button onClick={() => setIsOpen(true)}>
        <T
          text="Show<span> the payload of {type}</span>"
          span={<span className="visually-hidden" />}
          type={type}
        />
      </Button>
      {isOpen && (
        <Dialog title={type} onClose={close}>
          <Loaded query={query}>
            {({ message: { events } }) => (
              <CodeBlock
                text={JSON.stringify(events[index]?.payload ?? null, null, 2)}
                label={t('payload')}
              />
            )}
          </Loaded>
          <DialogActions>
            <Button onClick={close}>{t('Close')}</Button>
          </DialogActions>
        </Dialog>
      )}
    </>
  );
}
