import { useState } from 'react';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { usePermissions } from '../../lib/session.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/code.tsx';
import { ConfirmButton } from '../../ui/confirm-button.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Dialog, DialogActions, ShownOnceDialog } from '../../ui/dialog.tsx';
import { CheckboxGroup, Field } from '../../ui/field.tsx';
import { Form, textOf, timeOf } from '../../ui/form.tsx';
import { Loaded } from '../../ui/states.tsx';
import { Time } from '../../ui/values.tsx';
import {
  AccessTokens,
  type AccessTokensQuery,
  CreateAccessToken,
  RevokeAccessToken,
} from './security.generated.ts';

type Token = NonNullable<AccessTokensQuery['accessTokens']>[number];

const COLUMNS: readonly Column<Token>[] = [
  { header: 'Name', cell: ({ name }) => name },
  { header: 'Permissions', cell: ({ permissions }) => permissions.join(', ') },
  { header: 'Last used', cell: ({ lastUsedAt }) => <Time at={lastUsedAt} />, isWhole: true },
  { header: 'Ends', cell: ({ expiresAt }) => <Time at={expiresAt} />, isWhole: true },
  { header: 'Actions', cell: (token) => <Acts of={token} />, isWhole: true },
];

/** Operations that only read. Most programs need only these. */
const READS = /\.(list|find|get|slice|query|ledger|health|types|headers)\w*$/;
/** Operations that an access token must not run, or that only make sense for a person. */
const OF_PEOPLE = /^(session|secondFactor|accessToken|permission)\.|^member\.changePassword$/;

/** The access tokens of the person. Programs use them to call the GraphQL API. */
export function AccessTokensSection() {
  const query = useApiQuery(AccessTokens, {});
  const [isOpen, setIsOpen] = useState(false);
  return (
    <section className="card stack" aria-labelledby="access-tokens">
      <h2 id="access-tokens">Access tokens</h2>
      <p>A token lets a program, such as a dashboard, use some of your permissions over GraphQL.</p>
      <Loaded query={query}>
        {({ accessTokens }) =>
          accessTokens.length === 0 ? (
            <p className="quiet">You have none.</p>
          ) : (
            <DataTable
              caption="Your tokens, ended ones too"
              columns={COLUMNS}
              rows={accessTokens}
              keyOf={({ id }) => id}
            />
          )
        }
      </Loaded>
      <div className="row">
        <Button onClick={() => setIsOpen(true)}>New access token</Button>
      </div>
      {isOpen && <NewToken onClose={() => setIsOpen(false)} />}
    </section>
  );
}

function Acts({ of: { id, name, revokedAt, expiresAt } }: { of: Token }) {
  const revoke = useApiMutation(RevokeAccessToken, { refetches: [AccessTokens] });
  if (revokedAt !== null) return <Badge status="REVOKED" />;
  if (Date.parse(expiresAt) <= Date.now()) return <Badge status="EXPIRED" />;
  return (
    <ConfirmButton
      title={`Revoke ${name}?`}
      consequence="Programs that use it are refused at once."
      confirmLabel="Revoke"
      onConfirm={() => revoke.mutateAsync({ id })}
    >
      Revoke <span className="visually-hidden">{name}</span>
    </ConfirmButton>
  );
}

function NewToken({ onClose }: { onClose: () => void }) {
  const permissions = usePermissions().filter((name) => !OF_PEOPLE.test(name));
  const create = useApiMutation(CreateAccessToken, { refetches: [AccessTokens] });
  const created = create.data?.createAccessToken;
  if (created)
    return (
      <ShownOnceDialog title="Your new access token" onClose={onClose}>
        <CodeBlock text={created.token} label="access token" />
      </ShownOnceDialog>
    );
  return (
    <Dialog title="New access token" onClose={onClose} mustAnswer={create.isPending} look="wide">
      <Form
        label="New access token"
        error={create.error}
        onSubmit={(values) =>
          create.mutate({
            input: {
              name: textOf(values, 'name'),
              permissions: values.getAll('permissions').map(String),
              expiresAt: timeOf(values, 'expiresAt') ?? '',
            },
          })
        }
      >
        <Field name="name" label="Name" autoFocus />
        <Field name="expiresAt" label="Ends" type="datetime-local" hint="At most a year ahead." />
        <CheckboxGroup
          name="permissions"
          label="Permissions"
          hint="It never does more than your role allows at the time."
          options={[
            ...permissions.filter((name) => READS.test(name)),
            ...permissions.filter((name) => !READS.test(name)),
          ].map((name) => ({ value: name, label: name }))}
        />
        <DialogActions>
          <Button onClick={() => create.isPending || onClose()}>Cancel</Button>
          <Button type="submit" look="primary" isBusy={create.isPending}>
            Create token
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  );
}
