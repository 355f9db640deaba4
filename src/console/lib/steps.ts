import { useState } from 'react';
import { t } from './words.ts';

/** Runs asynchronous steps by `run`. Returns whether they run, and their last error. */
export function useSteps(steps: () => Promise<void>) {
  const [isPending, setIsPending] = useState(false);
  const [error, setError] = useState<Error>();
  const run = async () => {
    setIsPending(true);
    setError(undefined);
    try {
      await steps();
    } catch (fault) {
      setError(fault instanceof Error ? fault : new Error(t('It did not work.')));
    } finally {
      setIsPending(false);
    }
  };
  return { isPending, error, run: () => void run() };
}
