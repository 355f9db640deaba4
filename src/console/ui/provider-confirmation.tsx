import { useLocation } from 'wouter';
import { useApiQuery } from '../lib/queries.ts';
import { OwnSignIn } from '../lib/single-sign-on.generated.ts';
import { goToProvider } from '../lib/single-sign-on.ts';
import { useSteps } from '../lib/steps.ts';
import { t } from '../lib/words.ts';
import { Button } from './button.tsx';
import { Notice } from './notice.tsx';

/**
 * For people who signed in at a provider: confirms their identity there and comes back to this page. What they typed
 * here is lost, so the text says so.
 */
export function ProviderConfirmation() {
  const [path] = useLocation();
  const { data } = useApiQuery(OwnSignIn, {});
  const confirm = useSteps(() => goToProvider({ next: path, confirm: true }));
  if (!data?.sessions.some(({ current, singleSignOn }) => current && singleSignOn)) return null;
  return (
    <>
      <p>
        {t(
          'Your provider can confirm it. You come back to this page; then repeat what you did, because what you typed is not kept.',
        )}
      </p>
      {confirm.error && <Notice tone="bad">{confirm.error.message}</Notice>}
      <Button isBusy={confirm.isPending} onClick={confirm.run}>
        {t('Confirm with your provider')}
      </Button>
    </>
  );
}
