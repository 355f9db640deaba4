import { type ReactNode, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { ApiError } from '../../lib/api-error.ts';
import { refetch } from '../../lib/queries.ts';
import { Session } from '../../lib/session.generated.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { Form, textOf, timeOf } from '../../ui/form.tsx';
import { Messages, MessagesCount } from './messages.generated.ts';
import type { Environment } from './send.generated.ts';

const ENVIRONMENTS = [
  { value: 'PRODUCTION', label: 'Production: it is sent and charged' },
  { value: 'SANDBOX', label: 'Sandbox: it is checked and recorded, nothing is sent or charged' },
];

/** What every send takes. */
export interface SendCommon {
  readonly environment: Environment;
  readonly scheduledFor: string | null;
  readonly idempotencyKey: string;
}

/** A refusal of one field, made here. */
export function fieldFault(path: string, message: string): ApiError {
  return new ApiError('BAD_USER_INPUT', message, { fields: [{ path, message }] });
}

/** Not `randomUUID`, which pages without HTTPS do not have. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}

/** The fault with its paths as the form names its fields. */
function renamed(error: ApiError, names: Readonly<Record<string, string>>): ApiError {
  const { code, message, requestId, retryAfterSeconds } = error;
  const fields = error.fields.map((fault) => {
    const path = fault.path.replace(/^input\./, '');
    return { ...fault, path: names[path] ?? path };
  });
  return new ApiError(code, message, { fields, requestId, retryAfterSeconds });
}

/**
 * What the forms of all channels have in common: where and when it goes, the key that keeps a second click from
 * sending twice, and the way to the message's page once it is sent.
 */
export function SendForm({
  label,
  send,
  environment: given = 'PRODUCTION',
  price,
  fieldNames = {},
  explain,
  children,
}: {
  label: string;
  /** Sends, and gives the message's id. Throws `ApiError`. */
  send: (values: FormData, common: SendCommon) => Promise<string>;
  environment?: Environment | undefined;
  /** What it would cost. */
  price: (environment: Environment) => ReactNode;
  /** Names of fields by the API's path, where they differ. */
  fieldNames?: Readonly<Record<string, string>>;
  /** More about a refusal than its message. */
  explain?: (error: ApiError) => ReactNode;
  children: ReactNode;
}) {
  const [, navigate] = useLocation();
  const [idempotencyKey] = useState(newKey);
  const [environment, setEnvironment] = useState(given);
  const [fault, setFault] = useState<Error>();
  const [isBusy, setIsBusy] = useState(false);
  // A second click can come before the button is shown as busy.
  const isSending = useRef(false);
  const submit = async (values: FormData) => {
    if (isSending.current) return;
    isSending.current = true;
    setIsBusy(true);
    setFault(undefined);
    try {
      const id = await send(values, {
        environment,
        scheduledFor: timeOf(values, 'scheduledFor'),
        idempotencyKey: textOf(values, 'idempotencyKey') || idempotencyKey,
      });
      void refetch(Messages, MessagesCount, Session);
      navigate(`/messages/${id}`);
    } catch (error) {
      setFault(error instanceof ApiError ? renamed(error, fieldNames) : (error as Error));
    } finally {
      isSending.current = false;
      setIsBusy(false);
    }
  };
  return (
    <Form label={label} error={fault ?? null} onSubmit={(values) => void submit(values)}>
      {fault instanceof ApiError && explain?.(fault)}
      {children}
      <Select
        name="environment"
        label="Environment"
        options={ENVIRONMENTS}
        value={environment}
        onChange={(event) => setEnvironment(event.currentTarget.value as Environment)}
      />
      <Field
        name="scheduledFor"
        label="Send at"
        type="datetime-local"
        hint="In your time zone, at most 30 days ahead. Empty: now."
      />
      <details className="message-more">
        <summary>Idempotency key</summary>
        <Field
          name="idempotencyKey"
          label="Key of this send"
          hint="Whatever is sent with the same key within 24 hours is sent once. This form made one of its own."
          defaultValue={idempotencyKey}
          maxLength={64}
        />
      </details>
      {price(environment)}
      <div className="row">
        <Button type="submit" look="primary" isBusy={isBusy}>
          {environment === 'SANDBOX' ? 'Send in the sandbox' : 'Send'}
        </Button>
        <ButtonLink href="/messages">Cancel</ButtonLink>
      </div>
    </Form>
  );
}
