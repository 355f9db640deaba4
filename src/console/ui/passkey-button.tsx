import { hasPasskeys } from '../lib/passkeys.ts';
import { useSteps } from '../lib/steps.ts';
import { t } from '../lib/words.ts';
import { Button } from './button.tsx';
import { Notice } from './notice.tsx';

/** A button that runs `steps` with a passkey. Renders nothing if the browser does not support passkeys here. */
export function PasskeyButton({ steps }: { steps: () => Promise<void> }) {
  const { isPending, error, run } = useSteps(steps);
  if (!hasPasskeys()) return null;
  return (
    <>
      {error && <Notice tone="bad">{error.message}</Notice>}
      <Button isBusy={isPending} onClick={run}>
        {t('Use a passkey')}
      </Button>
    </>
  );
}
