import { useState } from 'react';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { Can, useViewer } from '../../lib/session.tsx';
import { Badge } from '../../ui/badge.tsx';
import { CodeBlock } from '../../ui/code.tsx';
import { ConfirmButton } from '../../ui/confirm-button.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { ShownOnceDialog } from '../../ui/dialog.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { Loaded } from '../../ui/states.tsx';
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

const WHAT = { FACTORS: 'second factors', PASSWORD: 'password' } as const;

/** One half of a new password, which is shown only once. */
interface PasswordPart {
  readonly which: 'first' | 'second';
  readonly email: string;
  readonly part: string;
}
type OnPart = (part: PasswordPart) => void;

const operatorColumns = (onPart: OnPart): readonly Column<Operator>[] => [
  { header: 'Email', cell: ({ email }) => email },
  { header: 'Role', cell: ({ role }) => <Badge status={role} /> },
  { header: 'Added', cell: ({ createdAt }) => <Time at={createdAt} />, isWhole: true },
  { header: 'Lost sign-in', cell: (operator) => <Requests of={operator} onPart={onPart} />, isWhole: true },
];
const resetColumns = (onPart: OnPart): readonly Column<Reset>[] => [
  { header: 'Of', cell: ({ user }) => user.email },
  { header: 'What', cell: ({ kind }) => WHAT[kind], isWhole: true },
  { header: 'Requested by', cell: ({ requester }) => requester.email },
  { header: 'Ends', cell: ({ expiresAt }) => <Time at={expiresAt} />, isWhole: true },
  { header: 'Actions', cell: (reset) => <Answers to={reset} onPart={onPart} />, isWhole: true },
];

/** For operators: who they are, and the requests to reset the sign-in of one of them. */
export default function OperatorsPage() {
  const query = useApiQuery(Operators, {});
  // Kept here, because the row of a confirmed request disappears.
  const [part, setPart] = useState<PasswordPart>();
  return (
    <>
      <PageHeader title="Operators" />
      <Loaded query={query}>
        {({ operators, operatorResets }) => (
          <>
            {operatorResets.length > 0 && (
              <DataTable
                caption="Requests that wait for a second operator"
                columns={resetColumns(setPart)}
                rows={operatorResets}
                keyOf={({ id }) => id}
              />
            )}
            <DataTable
              caption="Everybody who can sign in as an operator"
              columns={operatorColumns(setPart)}
              rows={operators}
              keyOf={({ id }) => id}
            />
          </>
        )}
      </Loaded>
      <p className="quiet">
        One operator requests a reset, a second one confirms it, and the person can refuse it. With fewer than
        three operators use the command line: <code>user reset-factors</code>, <code>user password</code>.
      </p>
      {part && (
        <ShownOnceDialog
          title={`The ${part.which} half of a password of ${part.email}`}
          notice="Copy it now: it is shown only once."
          onClose={() => setPart(undefined)}
        >
          <p>
            {part.which === 'first'
              ? 'It is of no use before a second operator confirms the request. That operator sees the second half.'
              : 'The person signs in with both halves as one word, the first half first. The operator who requested it has the first half.'}
          </p>
          <CodeBlock text={part.part} label="half of the password" />
        </ShownOnceDialog>
      )}
    </>
  );
}

function Requests({ of, onPart }: { of: Operator; onPart: OnPart }) {
  const viewer = useViewer();
  if (of.id === viewer.id) return <span className="quiet">This is you</span>;
  return (
    <Can run="operatorReset.request" otherwise={<span className="quiet">You only read</span>}>
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
      if (passwordPart === null) toast({ text: 'A second operator must confirm it within 24 hours.' });
      else onPart({ which: 'first', email, part: passwordPart });
    },
  });
  return (
    <ConfirmButton
      title={`Request to reset the ${WHAT[kind]} of ${email}?`}
      consequence="Nothing changes before a second operator confirms it. The person gets a mail, and can refuse it."
      confirmLabel="Request"
      onConfirm={() => request.mutateAsync({ userId, kind })}
    >
      Reset {WHAT[kind]} <span className="visually-hidden">of {email}</span>
    </ConfirmButton>
  );
}

function Answers({ to, onPart }: { to: Reset; onPart: OnPart }) {
  const { id, kind, user, requester } = to;
  const viewer = useViewer();
  const toast = useToast();
  const refuse = useApiMutation(RefuseOperatorReset, {
    refetches: [Operators],
    onDone: () => toast({ text: 'The request is refused. Nothing has changed.' }),
  });
  const isConcerned = user.id === viewer.id;
  const refusal = (
    <ConfirmButton
      title={`Refuse to reset the ${WHAT[kind]} of ${user.email}?`}
      consequence="The request ends, and nothing changes."
      confirmLabel="Refuse it"
      onConfirm={() => refuse.mutateAsync({ id })}
    >
      Refuse <span className="visually-hidden">the request for {user.email}</span>
    </ConfirmButton>
  );
  if (isConcerned) return refusal;
  return (
    <Can run="operatorReset.confirm" otherwise={<span className="quiet">You only read</span>}>
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
      if (passwordPart === null) toast({ text: `The ${WHAT[kind]} of ${user.email} are reset.` });
      else onPart({ which: 'second', email: user.email, part: passwordPart });
    },
  });
  return (
    <ConfirmButton
      title={`Reset the ${WHAT[kind]} of ${user.email}?`}
      consequence={`${requester.email} requested it. Ask ${user.email} yourself whether they want it. They are signed out everywhere.`}
      confirmLabel="Confirm it"
      onConfirm={() => confirm.mutateAsync({ id })}
    >
      Confirm <span className="visually-hidden">the request for {user.email}</span>
    </ConfirmButton>
  );
}
