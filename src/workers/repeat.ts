import type { Logger } from '../domain/ports/logger.ts';

/** Runs `task` again and again with a pause between; a failure is logged and the next round tries again. */
export function repeat(name: string, pauseMs: number, logger: Logger, task: () => Promise<unknown>) {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  let running: Promise<void> = Promise.resolve();
  const round = async () => {
    try {
      await task();
    } catch (error) {
      logger.warn({ err: error, task: name }, 'a periodic task failed; it is tried again');
    }
    if (!isStopped) schedule();
  };
  const schedule = () => {
    timer = setTimeout(() => {
      running = round();
    }, pauseMs);
  };
  schedule();
  return {
    /** Resolves when no round is under way and none will follow. */
    async stop(): Promise<void> {
      isStopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
