import type { Logger } from '../domain/ports/logger.ts';
import { OutageLog } from '../runtime/outage-log.ts';

/**
 * Runs `task` again and again, with a pause of `pauseMs` between rounds and of `firstPauseMs` before the first one. A
 * failed round does not stop the next one. Logs the first failure, and the first success after it.
 */
export function repeat(
  name: string,
  pauseMs: number,
  logger: Logger,
  task: () => Promise<unknown>,
  firstPauseMs = pauseMs,
) {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  let running: Promise<void> = Promise.resolve();
  const outage = new OutageLog(
    logger,
    'a periodic task failed; it is tried again',
    'a periodic task works again',
    { task: name },
  );
  const round = async () => {
    try {
      await task();
      outage.worked();
    } catch (error) {
      outage.failed(error);
    }
    if (!isStopped) schedule(pauseMs);
  };
  const schedule = (waitMs: number) => {
    timer = setTimeout(() => {
      running = round();
    }, waitMs);
  };
  schedule(firstPauseMs);
  return {
    /** Resolves when no round runs and none will follow. */
    async stop(): Promise<void> {
      isStopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
