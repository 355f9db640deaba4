import { askPasskey } from '../lib/passkeys.ts';
import { useApiMutation, useApiQuery } from '../lib/queries.ts';
import { request } from '../lib/request.ts';
import {
  OwnFactors,
  StartPasskeySignIn,
  StepUp as StepUpMutation,
  StepUpWithPasskey,
} from '../lib/session.generated.ts';
import { answerStepUp, useStepUpAsked } from '../lib/step-up.ts';
import { t } from '../lib/words.ts';
import { Button } from './button.tsx';
import { Dialog, DialogActions } from './dialog.tsx';
import { CodeField, Field } from './field.tsx';
import { Form, textOf } from './form.tsx';
import { PasskeyButton } from './passkey-button.tsx';
import { ProviderConfirmation } from './provider-confirmation.tsx';
import { Loaded } from './states.tsx';

/**
 * Shows a dialog for a code, passkey or password when a request needs a confirmation of the identity. The request then
 * continues.
 */
export function StepUp() {
  return useStepUpAsked() ? <StepUpDialog /> : null;
}

function StepUpDialog() {
  const query = useApiQuery(OwnFactors, {});
  const stepUp = useApiMutation(StepUpMutation, { onDone: () => answerStepUp(true) });
  const withPasskey = async () => {
    const { startPasskeySignIn } = await request(StartPasskeySignIn, {});
    await request(StepUpWithPasskey, { passkey: await askPasskey(startPasskeySignIn) });
    answerStepUp(true);
  };
  return (
    <Dialog
      title={t('Confirm that it is you')}
      onClose={() => answerStepUp(false)}
      mustAnswer={stepUp.isPending}
    >
      <p>{t('This needs a confirmation of the last 10 minutes.')}</p>
      <Loaded query={query}>
        {({ factors }) => (
          <>
            <ProviderConfirmation />
            {factors.some(({ kind }) => kind === 'passkey') && <PasskeyButton steps={withPasskey} />}
            <Form
              label={t('Confirm that it is you')}
              error={stepUp.error}
              onSubmit={(values) =>
                stepUp.mutate(
                  factors.length > 0
                    ? { code: textOf(values, 'code') }
                    : { password: String(values.get('password')) },
                )
              }
            >
              {factors.length > 0 ? (
                <CodeField />
              ) : (
                <Field
                  name="password"
                  label={t('Password')}
                  type="password"
                  autoComplete="current-password"
                  autoFocus
                />
              )}
              <DialogActions>
                <Button onClick={() => stepUp.isPending || answerStepUp(false)}>{t('Cancel')}</Button>
                <Button type="submit" look="primary" isBusy={stepUp.isPending}>
                  {t('Confirm')}
                </Button>
              </DialogActions>
            </Form>
          </>
        )}
      </Loaded>
    </Dialog>
  );
}
