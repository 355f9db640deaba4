import { type ReactNode, useRef, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { ApiError } from '../../lib/api-error.ts';
import { refetch } from '../../lib/queries.ts';
import { request } from '../../lib/request.ts';
import { SendKeys } from '../../lib/send-keys.ts';
import { Session } from '../../lib/session.generated.ts';
import { t } from '../../lib/words.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { Form, textOf, timeOf } from '../../ui/form.tsx';
import { Notice } from '../../ui/notice.tsx';
import { T } from '../../ui/t.tsx';
import { type Bill, billWords, recipientsText } from './bill.ts';
import type { Message } from './message-text.ts';
import { Messages, MessagesCount } from './messages.generated.ts';
import { type Environment, NewestMessage } from './send.generated.ts';

const ENVIRONMENTS = [
  { value: 'PRODUCTION', label: t('Production: it is sent and charged') },
  { value: 'SANDBOX', label: t('Sandbox: it is checked and recorded, nothing is sent or charged') },
];

/** The fields that every channel sends. */
export interface SendCommon {
  readonly environment: Environment;
  /** Undefined: the default of the API. */
  readonly purpose: Message['purpose'] | undefined;
  readonly scheduledFor: string | null;
  /** Null while only the price is asked. */
  readonly idempotencyKey: string | null;
}

/** Makes an error for one field of the form, found by the console itself. */
export function fieldFault(path: string, message: string): ApiError {
  return new ApiError('BAD_USER_INPUT', message, { fields: [{ path, message }] });
}

/** The created message. If the idempotency key was used before, it is the message of the earlier request. */
interface Sent {
  readonly id: string;
  readonly createdAt: string;
}

/**
 * Returns a text that identifies the form's whole content. A file is identified by name, size and modification time.
 */
function contentOf(values: FormData): string {
  const facts = ([name, value]: [string, FormDataEntryValue]) =>
    value instanceof File ? [name, value.name, value.size, value.lastModified] : [name, value];
  return JSON.stringify([...values].map(facts));
}

/** Returns when the account's newest message was accepted, in ms since 1970, or 0 if there is no message. */
async function newestAtMs(): Promise<number> {
  const [newest] = (await request(NewestMessage, {})).messages.nodes;
  return newest ? Date.parse(newest.createdAt) : 0;
}

/** Returns the error with the form's field names instead of the API's paths. `names` maps one to the other. */
function renamed(error: ApiError, names: Readonly<Record<string, string>>): ApiError {
  const { code, message, requestId, retryAfterSeconds } = error;
  const fields = error.fields.map((fault) => {
    const path = fault.path.replace(/^input\./, '');
    return { ...fault, path: names[path] ?? path };
  });
  return new ApiError(code, message, { fields, requestId, retryAfterSeconds });
}

/**
 * The part that the forms of all channels share: environment, schedule, idempotency key, and the redirect to the page
 * of the message. The idempotency key prevents a second message when the person sends again after a lost response.
 */
export function SendForm({
  label,
  send,
  environment: given = 'PRODUCTION',
  purpose,
  price,
  billOf,
  fieldNames = {},
  explain,
  children,
}: {
  label: string;
  /** Sends the message. Rejects with `ApiError` on failure. */
  send: (values: FormData, common: SendCommon) => Promise<Sent>;
  environment?: Environment | undefined;
  /** Purpose of the earlier message, which a message that is sent again keeps (R376). */
  purpose?: Message['purpose'] | undefined;
  /** Renders the price for the chosen environment. */
  price: (environment: Environment) => ReactNode;
  /**
   * Returns what the message costs if it goes to more than one recipient. The person then confirms it once. Returns
   * undefined for one recipient. If it rejects, the message is sent without a question, so that the API says what is
   * wrong.
   */
  billOf?: (values: FormData, common: SendCommon) => Promise<Bill | undefined>;
  /** The form's field name for an API path, where the two differ. */
  fieldNames?: Readonly<Record<string, string>>;
  /** Renders an explanation of an error in addition to its message. */
  explain?: (error: ApiError) => ReactNode;
  children: ReactNode;
}) {
  const [, navigate] = useLocation();
  const [keys] = useState(() => new SendKeys());
  // For each content that was sent with a typed idempotency key: the time of the newest message before the first
  // attempt. If the response has a message that is not newer, the key was used before and nothing was sent.
  const [newestBefore] = useState(() => new Map<string, number>());
  const [earlierId, setEarlierId] = useState<string>();
  const [environment, setEnvironment] = useState(given);
  const [fault, setFault] = useState<Error>();
  const [isBusy, setIsBusy] = useState(false);
  const [asked, setAsked] = useState<{ readonly bill: Bill; readonly values: FormData }>();
  // A ref, because a second click can come before the state `isBusy` is rendered.
  const isSending = useRef(false);
  const commonOf = (values: FormData, idempotencyKey: string | null): SendCommon => ({
    environment,
    purpose,
    scheduledFor: timeOf(values, 'scheduledFor'),
    idempotencyKey,
  });
  /** Asks for a confirmation of what many recipients cost, or sends at once. */
  const submit = async (values: FormData) => {
    if (isSending.current) return;
    isSending.current = true;
    setIsBusy(true);
    const bill =
      environment === 'PRODUCTION'
        ? await billOf?.(values, commonOf(values, null)).catch(() => undefined)
        : undefined;
    isSending.current = false;
    setIsBusy(false);
    if (bill && bill.recipients > 1 && bill.cost <= bill.balance) setAsked({ bill, values });
    else await sendNow(values);
  };
  const sendNow = async (values: FormData) => {
    if (isSending.current) return;
    isSending.current = true;
    setIsBusy(true);
    setFault(undefined);
    setEarlierId(undefined);
    const content = contentOf(values);
    const ownKey = textOf(values, 'idempotencyKey');
    try {
      if (ownKey !== '' && !newestBefore.has(content)) newestBefore.set(content, await newestAtMs());
      const { id, createdAt } = await send(values, commonOf(values, ownKey || keys.keyOf(content)));
      void refetch(Messages, MessagesCount, Session);
      if (Date.parse(createdAt) <= (newestBefore.get(content) ?? 0)) setEarlierId(id);
      else navigate(`/messages/${id}`);
    } catch (error) {
      setFault(error instanceof ApiError ? renamed(error, fieldNames) : (error as Error));
    } finally {
      isSending.current = false;
      setIsBusy(false);
    }
  };
  return (
    <>
      <Form label={label} error={fault ?? null} onSubmit={(values) => void submit(values)}>
        {fault instanceof ApiError && explain?.(fault)}
        {fault instanceof ApiError && fault.isLostConnection && (
          <Notice tone="warn">
            {t(
              'The message may have gone out all the same. Sent again unchanged it goes out once; once you change it, it is another message beside the first.',
            )}
          </Notice>
        )}
        {earlierId && (
          <Notice tone="bad">
            <T
              text="Nothing was sent: this idempotency key was used before. <link>This is the message that it sent.</link>"
              link={<Link href={`/messages/${earlierId}`} />}
            />
          </Notice>
        )}
        {children}
        <Select
          name="environment"
          label={t('Environment')}
          options={ENVIRONMENTS}
          value={environment}
          onChange={(event) => setEnvironment(event.currentTarget.value as Environment)}
        />
        <Field
          name="scheduledFor"
          label={t('Send at')}
          type="datetime-local"
          hint={t('In your time zone, at most 30 days ahead. Empty: now.')}
        />
        <details className="message-more">
          <summary>{t('Idempotency key')}</summary>
          <Field
            name="idempotencyKey"
            label={t('Key of this send')}
            hint={t(
              'Whatever is sent with the same key within 24 hours is sent once. Empty: the form makes one of its own.',
            )}
            autoComplete="off"
            maxLength={64}
          />
        </details>
        {price(environment)}
        <div className="row">
          <Button type="submit" look="primary" isBusy={isBusy}>
            {environment === 'SANDBOX' ? t('Send in the sandbox') : t('Send')}
          </Button>
          <ButtonLink href="/messages">{t('Cancel')}</ButtonLink>
        </div>
      </Form>
      {asked && (
        <ConfirmDialog
          title={t('Send to {recipients}?', { recipients: recipientsText(asked.bill) })}
          consequence={billWords(asked.bill)}
          confirmLabel={t('Send to {recipients}', { recipients: recipientsText(asked.bill) })}
          look="primary"
          // The dialog closes at once, so that the form can focus a field with an error.
          onConfirm={async () => void sendNow(asked.values)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </>
  );
}
