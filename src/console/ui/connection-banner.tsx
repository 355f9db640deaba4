import { useConnectionLost } from '../lib/connection.ts';
import { useBudgetUsedUp } from '../lib/used-up.ts';
import { t } from '../lib/words.ts';
import { Notice } from './notice.tsx';
import { T } from './t.tsx';

/** Shows a warning while the gateway does not answer, or refuses requests because of the rate limit. */
export function ConnectionBanner() {
  const whyRefused = useBudgetUsedUp();
  return (
    <div aria-live="assertive">
      {useConnectionLost() && (
        <Notice tone="warn">
          {t(
            'The gateway does not answer. What you see may be old; it is brought up to date as soon as it answers again.',
          )}
        </Notice>
      )}
      {whyRefused !== undefined && (
        <Notice tone="warn">
          <T
            text="This session has used up its requests for now. {whyRefused} This page then goes on by itself."
            whyRefused={whyRefused}
          />
        </Notice>
      )}
    </div>
  );
}
