import { useConnectionLost } from '../lib/connection.ts';
import { Notice } from './notice.tsx';

/** Says that the gateway does not answer, for as long as it does not. */
export function ConnectionBanner() {
  return (
    <div aria-live="assertive">
      {useConnectionLost() && (
        <Notice tone="warn">
          The gateway does not answer. What you see may be old; it is brought up to date as soon as it answers
          again.
        </Notice>
      )}
    </div>
  );
}
