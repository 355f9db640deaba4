import { useState } from 'react';
import { createPasskey, hasPasskeys } from '../../lib/passkeys.ts';
import { refetch, useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { request } from '../../lib/request.ts';
import { OwnFactors, type OwnFactorsQuery, Session } from '../../lib/session.generated.ts';
import { Can, usePermission } from '../../lib/session.tsx';
import { useSteps } from '../../lib/steps.ts';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/code.tsx';
import { ConfirmButton } from '../../ui/confirm-button.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Dialog, DialogActions } from '../../ui/dialog.tsx';
import { CodeField } from '../../ui/field.tsx';
import { Form, textOf } from '../../ui/form.tsx';
import { Notice } from '../../ui/notice.tsx';
import { Loaded } from '../../ui/states.tsx';
import { T } from '../../ui/t.tsx';
import { useToast } from '../../ui/toast.tsx';
import { Time } from '../../ui/values.tsx';
import { QrCode } from './qr-code.tsx';
import {
  ConfirmTotp,
  FinishPasskey,
  RecoveryCodesLeft,
  RemoveFactor,
  RenewRecoveryCodes,
  Sessions,
  StartPasskey,
  StartTotp,
} from './security.generated.ts';

type Factor = NonNullable<OwnFactorsQuery['factors']>[number];

const COLUMNS: readonly Column<Factor>[] = [
  { header: t('Name'), cell: ({ name }) => name },
  { header: t('Added'), cell: ({ createdAt }) => <Time at={createdAt} />, isWhole: true },
  { header: t('Last used'), cell: ({ lastUsedAt }) => <Time at={lastUsedAt} />, isWhole: true },
  { header: t('Actions'), cell: (factor) => <Remove of={factor} />, isWhole: true },
];

/** The person's second factors: authenticator apps, passkeys and recovery codes. */
export function FactorsSection() {
  const query = useApiQuery(OwnFactors, {});
  const isFree = usePermission('session.list');
  return (
    <section className="card stack" aria-labelledby="factors">
      <h2 id="factors">{t('Second factor')}</h2>
      {!isFree && (
        <Notice tone="warn">
          {t('A second factor is required here. Add one; until then you can do nothing else.')}
        </Notice>
      )}
      <Loaded query={query}>
        {({ factors }) =>
          factors.length === 0 ? (
            <p>
              {t(
                'Your password alone signs you in. With an authenticator app or a passkey, a stolen password is not enough.',
              )}
            </p>
          ) : (
            <DataTable
              caption={t('Asked for after your password')}
              columns={COLUMNS}
              rows={factors}
              keyOf={({ id }) => id}
            />
          )
        }
      </Loaded>
      <div className="row">
        <AddTotp />
        <AddPasskey />
        <Can run="secondFactor.countRecoveryCodes">
          <RecoveryCodes />
        </Can>
      </div>
    </section>
  );
}

function Remove({ of: { id, name } }: { of: Factor }) {
  const toast = useToast();
  const remove = useApiMutation(RemoveFactor, {
    refetches: [OwnFactors, RecoveryCodesLeft, Sessions],
    onDone: () => toast({ text: t('{name} is removed.', { name }) }),
  });
  return (
    <ConfirmButton
      title={t('Remove {name}?', { name })}
      consequence={t('Its codes are taken no longer, and your other sessions end.')}
      confirmLabel={t('Remove')}
      onConfirm={() => remove.mutateAsync({ id })}
    >
      <T text="Remove {name}" name={<span className="visually-hidden">{name}</span>} />
    </ConfirmButton>
  );
}

/** Adds an authenticator app: shows the QR code, asks for a code of the app, and shows the recovery codes. */
function AddTotp() {
  const start = useApiMutation(StartTotp);
  const confirm = useApiMutation(ConfirmTotp);
  // A refetch of the session changes the page, so it waits until the person has read the recovery codes.
  const finish = () => {
    void refetch(OwnFactors, RecoveryCodesLeft, Sessions, Session);
    start.reset();
    confirm.reset();
  };
  const begun = start.data?.startTotp;
  const codes = confirm.data?.confirmTotp.recoveryCodes;
  return (
    <>
      <Button look="primary" isBusy={start.isPending} onClick={() => start.mutate({})}>
        {t('Add an authenticator app')}
      </Button>
      {start.error && <Notice tone="bad">{start.error.message}</Notice>}
      {codes && <RecoveryCodesDialog codes={codes} onClose={finish} />}
      {begun && !codes && (
        <Dialog
          title={t('Add an authenticator app')}
          onClose={() => start.reset()}
          mustAnswer={confirm.isPending}
        >
          <p>{t('Scan this with the app, or type the secret into it.')}</p>
          <QrCode text={begun.uri} label={t('QR code for the app')} />
          <CodeBlock text={begun.secret} label={t('secret')} />
          <Form
            label={t('Add an authenticator app')}
            error={confirm.error}
            onSubmit={(values) => confirm.mutate({ code: textOf(values, 'code') })}
          >
            <CodeField hint={t('The six digits that the app shows now.')} />
            <DialogActions>
              <Button onClick={() => confirm.isPending || start.reset()}>{t('Cancel')}</Button>
              <Button type="submit" look="primary" isBusy={confirm.isPending}>
                {t('Add it')}
              </Button>
            </DialogActions>
          </Form>
        </Dialog>
      )}
    </>
  );
}

/** Adds a passkey on this device. With the first factor it also shows the recovery codes. */
function AddPasskey() {
  const [codes, setCodes] = useState<readonly string[]>([]);
  const toast = useToast();
  const refresh = () => refetch(OwnFactors, RecoveryCodesLeft, Sessions, Session);
  const add = useSteps(async () => {
    const { startPasskey } = await request(StartPasskey, {});
    const { finishPasskey } = await request(FinishPasskey, { passkey: await createPasskey(startPasskey) });
    setCodes(finishPasskey.recoveryCodes);
    if (finishPasskey.recoveryCodes.length > 0) return;
    toast({ text: t('The passkey is added.') });
    await refresh();
  });
  const finish = () => {
    void refresh();
    setCodes([]);
  };
  if (!hasPasskeys()) return null;
  return (
    <>
      <Button isBusy={add.isPending} onClick={add.run}>
        {t('Add a passkey')}
      </Button>
      {add.error && <Notice tone="bad">{add.error.message}</Notice>}
      {codes.length > 0 && <RecoveryCodesDialog codes={codes} onClose={finish} />}
    </>
  );
}

/** Shows how many recovery codes are left, and creates new ones. */
function RecoveryCodes() {
  const query = useApiQuery(RecoveryCodesLeft, {});
  const renew = useApiMutation(RenewRecoveryCodes, { refetches: [RecoveryCodesLeft] });
  const codes = renew.data?.renewRecoveryCodes.recoveryCodes;
  const left = query.data?.recoveryCodesLeft ?? 0;
  if (left === 0 && !codes) return null;
  return (
    <>
      <ConfirmButton
        title={t('Make new recovery codes?')}
        consequence={t('The codes that you have now stop working.')}
        confirmLabel={t('Make new codes')}
        onConfirm={() => renew.mutateAsync({})}
      >
        {t('New recovery codes')}
      </ConfirmButton>
      <span className="quiet">
        {t('{left, plural, one {# recovery code left} other {# recovery codes left}}', { left })}
      </span>
      {codes && <RecoveryCodesDialog codes={codes} onClose={() => renew.reset()} />}
    </>
  );
}

function RecoveryCodesDialog({ codes, onClose }: { codes: readonly string[]; onClose: () => void }) {
  return (
    <Dialog title={t('Your recovery codes')} onClose={onClose} mustAnswer>
      <Notice tone="warn">
        {t(
          'Keep them apart from your phone: they are shown this once. Each signs you in once when the app is lost.',
        )}
      </Notice>
      <CodeBlock text={codes.join('\n')} label={t('recovery codes')} />
      <DialogActions>
        <Button look="primary" onClick={onClose}>
          {t('I have kept them')}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
