import { useState } from 'react';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { Can, useViewer } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { Badge } from '../../ui/badge.tsx';
import { CodeBlock } from '../../ui/code.tsx';
import { ConfirmButton } from '../../ui/confirm-button.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { ShownOnceDialog } from '../../ui/dialog.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { Loaded } from '../../ui/states.tsx';
import { T } from '../../ui/t.tsx';
import { useToast } from '../../ui/toast.tsx';
import { Time } from '../../ui/values.tsx';
import {
  ConfirmOperatorReset,
  Operators,
  type OperatorsQuery,
  RefuseOperatorReset,
  RequestOperatorReset,
} from './operators.generated.ts';

type Operator = NonNullable<OperatorsQuery['operators']>[number];
type Reset = NonNullable<OperatorsQuery['operatorResets']>[number];

const WHAT = { FACTORS: t('second factors'), PASSWORD: t('password') } as const;
/** The texts of a request, by what it resets. */
const TEXTS = {
  FACTORS: {
    ask: (email: string) => t('Request to reset the second factors of {email}?', { email }),
    refuse: (email: string) => t('Refuse to reset the second factors of {email}?', { email }),
    confirm: (email: string) => t('Reset the second factors of {email}?', { email }),
  },
  PASSWORD: {
    ask: (email: string) => t('Request to reset the password of {email}?', { email }),
    refuse: (email: string) => t('Refuse to reset the password of {email}?', { email }),
    confirm: (email: string) => t('Reset the password of {email}?', { email }),
  },
} as const;

/** One half of a new password, which is shown only once. */
interface PasswordPart {
  readonly which: 'first' | 'second';
  readonly email: string;
  readonly part: string;
}
type OnPart = (part: PasswordPart) => void;

const operatorColumns = (onPart: OnPart): readonly Column<Operator>[] => [
  { header: t('Email'), cell: ({ email }) => email },
  { header: t('Role'), cell: ({ role }) => <Badge status={role} /> },
  { header: t('Added'), cell: ({ createdAt }) => <Time at={createdAt} />, isWhole: true },
  {
    header: t('Lost sign-in'),
    cell: (operator) => <Requests of={operator} onPart={onPart} />,
    isWhole: true,
  },
];
const resetColumns = (onPart: OnPart): readonly Column<Reset>[] => [
  { header: t('Of'), cell: ({ user }) => user.email },
  { header: t('What'), cell: ({ kind }) => WHAT[kind], isWhole: true },
  { header: t('Requested by'), cell: ({ requester }) => requester.email },
  { header: t('Ends'), cell: ({ expiresAt }) => <Time at={expiresAt} />, isWhole: true },
  { header: t('Actions'), cell: (reset) => <Answers to={reset} onPart={onPart} />, isWhole: true },
];

/** For operators: who they are, and the requests to reset the sign-in of one of them. */
export default function OperatorsPage() {
  const query = useApiQuery(Operators, {});
  // Kept here, because the row of a confirmed request disappears.
  const [part, setPart] = useState<PasswordPart>();
  return (
    <>
      <PageHeader title={t('Operators')} />
      <Loaded query={query}>
        {({ operators, operatorResets }) => (
          <>
            {operatorResets.length > 0 && (
              <DataTable
                caption={t('Requests that wait for a second operator')}
                columns={resetColumns(setPart)}
                rows={operatorResets}
                keyOf={({ id }) => id}
              />
            )}
            <DataTable
              caption={t('Everybody who can sign in as an operator')}
              columns={operatorColumns(setPart)}
              rows={operators}
              keyOf={({ id }) => id}
            />
          </>
        )}
      </Loaded>
      <p className="quiet">
        <T
          text="One operator requests a reset, a second one confirms it, and the person can refuse it. With fewer than three operators use the command line: <code>user reset-factors</code>, <code>user password</code>."
          code={<code />}
        />
      </p>
      {part && (
        <ShownOnceDialog
          title={
            part.which === 'first'
              ? t('The first half of a password of {email}', { email: part.email })
              : t('The second half of a password of {email}', { email: part.email })
          }
          notice={t('Copy it now: it is shown only once.')}
          onClose={() => setPart(undefined)}
        >
          <p>
            {part.which === 'first'
              ? t(
                  'It is of no use before a second operator confirms the request. That operator sees the second half.',
                )
              : t(
                  'The person signs in with both halves as one word, the first half first. The operator who requested it has the first half.',
                )}
          </p>
          <CodeBlock text={part.part} label={t('half of the password')} />
        </ShownOnceDialog>
      )}
    </>
  );
}

function Requests({ of, onPart }: { of: Operator; onPart: OnPart }) {
  const viewer = useViewer();
  if (of.id === viewer.id) return <span className="quiet">{t('This is you')}</span>;
  return (
    <Can run="operatorReset.request" otherwise={<span className="quiet">{t('You only read')}</span>}>
      <span className="row">
        <Request kind="FACTORS" of={of} onPart={onPart} />
        <Request kind="PASSWORD" of={of} onPart={onPart} />
      </span>
    </Can>
  );
}

function Request({
  kind,
  of: { id: userId, email },
  onPart,
}: {
  kind: Reset['kind'];
  of: Operator;
  onPart: OnPart;
}) {
  const toast = useToast();
  const request = useApiMutation(RequestOperatorReset, {
    refetches: [Operators],
    onDone: ({ requestOperatorReset: { passwordPart } }) => {
      if (passwordPart === null) toast({ text: t('A second operator must confirm it within 24 hours.') });
      else onPart({ which: 'first', email, part: passwordPart });
    },
  });
  return (
    <ConfirmButton
      title={TEXTS[kind].ask(email)}
      consequence={t(
        'Nothing changes before a second operator confirms it. The person gets a mail, and can refuse it.',
      )}
      confirmLabel={t('Request')}
      onConfirm={() => request.mutateAsync({ userId, kind })}
    >
      <T
        text={
          kind === 'FACTORS'
            ? 'Reset second factors <span>of {email}</span>'
            : 'Reset password <span>of {email}</span>'
        }
        span={<span className="visually-hidden" />}
        email={email}
      />
    </ConfirmButton>
  );
}

function Answers({ to, onPart }: { to: Reset; onPart: OnPart }) {
  const { id, kind, user, requester } = to;
  const viewer = useViewer();
  const toast = useToast();
  const refuse = useApiMutation(RefuseOperatorReset, {
    refetches: [Operators],
    onDone: () => toast({ text: t('The request is refused. Nothing has changed.') }),
  });
  const isConcerned = user.id === viewer.id;
  const refusal = (
    <ConfirmButton
      title={TEXTS[kind].refuse(user.email)}
      consequence={t('The request ends, and nothing changes.')}
      confirmLabel={t('Refuse it')}
      onConfirm={() => refuse.mutateAsync({ id })}
    >
      <T
        text="Refuse <span>the request for {email}</span>"
        span={<span className="visually-hidden" />}
        email={user.email}
      />
    </ConfirmButton>
  );
  if (isConcerned) return refusal;
  return (
    <Can run="operatorReset.confirm" otherwise={<span className="quiet">{t('You only read')}</span>}>
      <span className="row">
        {requester.id !== viewer.id && <Confirm to={to} onPart={onPart} />}
        {refusal}
      </span>
    </Can>
  );
}

function Confirm({ to: { id, kind, user, requester }, onPart }: { to: Reset; onPart: OnPart }) {
  const toast = useToast();
  const confirm = useApiMutation(ConfirmOperatorReset, {
    refetches: [Operators],
    onDone: ({ confirmOperatorReset: { passwordPart } }) => {
      if (passwordPart === null)
        toast({ text: t('The second factors of {email} are reset.', { email: user.email }) });
      else onPart({ which: 'second', email: user.email, part: passwordPart });
    },
  });
  return (
    <ConfirmButton
      title={TEXTS[kind].confirm(user.email)}
      consequence={t(
        '{requester} requested it. Ask {person} yourself whether they want it. They are signed out everywhere.',
        { requester: requester.email, person: user.email },
      )}
      confirmLabel={t('Confirm it')}
      onConfirm={() => confirm.mutateAsync({ id })}
    >
      <T
        text="Confirm <span>the request for {email}</span>"
        span={<span className="visually-hidden" />}
        email={user.email}
      />
    </ConfirmButton>
  );
}
