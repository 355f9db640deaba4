import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { formatNumber } from '../../lib/format.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Badge } from '../../ui/badge.tsx';
import { CodeBlock, Id } from '../../ui/code.tsx';
import { Drawer } from '../../ui/drawer.tsx';
import { Loaded } from '../../ui/states.tsx';
import { T } from '../../ui/t.tsx';
import { ExactTime, KeyValues, Time } from '../../ui/values.tsx';
import { RequestDetail, type RequestDetailQuery, type RequestRowFragment } from './requests.generated.ts';

type Detail = NonNullable<RequestDetailQuery['request']>;

/** The query parameter that names the request in the drawer. */
export const OPENED = 'request';

/** Shows the HTTP status of an answer on the colour of its class, and the code of the error. */
export function RequestStatus({ of: { status, errorCode } }: { of: RequestRowFragment }) {
  const tone = status < 400 ? 'SUCCESS' : status < 500 ? 'PENDING' : 'FAILED';
  return (
    <span className="row">
      <Badge status={tone}>{status}</Badge>
      {errorCode !== null && <code>{errorCode}</code>}
    </span>
  );
}

/** The request that the URL names, in a drawer beside the list. */
export function RequestDrawer() {
  return (
    <Drawer name={OPENED} title={t('Request')}>
      {(id) => <RequestView key={id} id={id} />}
    </Drawer>
  );
}

function RequestView({ id }: { id: string }) {
  const query = useApiQuery(RequestDetail, { id });
  return (
    <Loaded query={query}>
      {({ request }) => (
        <>
          <p>
            <code>
              {request.method} {request.path}
            </code>
          </p>
          <RequestStatus of={request} />
          {request.errorCode !== null && (
            <p>
              <a href={`/docs/errors/${request.errorCode}`}>
                <T text="What {errorCode} means, and what to do" errorCode={request.errorCode} />
              </a>
            </p>
          )}
          <KeyValues items={factsOf(request)} />
          <Body title={t('Body of the request')} text={request.requestBody} of={request}>
            {request.requestBytes === 0
              ? t('It had no body, or was refused before its body was read.')
              : t('Its {requestBytes} bytes are not kept: more than 16 KiB, or no JSON.', {
                  requestBytes: request.requestBytes,
                })}
          </Body>
          <Body title={t('Body of the answer')} text={request.responseBody} of={request}>
            {t('It is not kept: more than 16 KiB.')}
          </Body>
        </>
      )}
    </Loaded>
  );
}

function Body({
  title,
  text,
  of: { isFull },
  children,
}: {
  title: string;
  text: string | null;
  of: Detail;
  /** Said if the body is not kept. */
  children: ReactNode;
}) {
  return (
    <section className="stack" aria-label={title}>
      <h3>{title}</h3>
      {text === null ? (
        <p className="quiet">{children}</p>
      ) : (
        <>
          <CodeBlock text={JSON.stringify(JSON.parse(text), null, 2)} label={title.toLowerCase()} />
          <p className="field-hint">
            {isFull ? t('Whole, but for keys and secrets.') : t('Texts and numbers are masked.')}
          </p>
        </>
      )}
    </section>
  );
}

function factsOf(request: Detail): readonly (readonly [string, ReactNode])[] {
  const { apiKey, messageId, idempotencyKey, skippedBefore, at } = request;
  return [
    [t('When'), <When key="when" at={at} />],
    [t('Duration'), `${formatNumber(request.durationMs)} ms`],
    [
      t('Key'),
      apiKey ? (
        <Link key="key" href={`/api-keys/${apiKey.keyId}`}>
          {apiKey.name}
        </Link>
      ) : (
        t('unknown')
      ),
    ],
    [t('Environment'), <Badge key="environment" status={request.environment} />],
    [t('Address'), <code key="address">{request.address}</code>],
    [t('Request id'), <Id key="id" of={request.requestId} label={t('Request id')} />],
    ...(idempotencyKey === null
      ? []
      : [[t('Idempotency key'), <code key="idempotency">{idempotencyKey}</code>] as const]),
    ...(messageId === null
      ? []
      : [
          [
            t('Message'),
            <Link key="message" href={`/messages/${messageId}`}>
              {t('The message that it sent')}
            </Link>,
          ] as const,
        ]),
    ...(skippedBefore === 0
      ? []
      : [
          [
            t('Not kept'),
            t('{skippedBefore} requests with the same outcome before it', { skippedBefore }),
          ] as const,
        ]),
  ];
}

function When({ at }: { at: string }) {
  return (
    <>
      <Time at={at} />{' '}
      <span className="quiet">
        <ExactTime at={at} />
      </span>
    </>
  );
}
