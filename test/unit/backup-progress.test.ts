import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Command } from 'commander';
import { addBackup } from '../../src/cli/backup.ts';
import type { BackupTools, OnProgress } from '../../src/cli/backup-tools.ts';

const MB = 2 ** 20;

/** Runs `backup` with these arguments, lets `copy` report progress, and returns what is written to stderr. */
async function shown(args: readonly string[], copy: (onProgress: OnProgress) => void): Promise<string[]> {
  const lines: string[] = [];
  jest.spyOn(process.stderr, 'write').mockImplementation((text) => lines.push(String(text)) > 0);
  const backUp: BackupTools['backUp'] = async ({ onProgress }) => {
    copy(onProgress);
    throw new Error('the copy ends here');
  };
  const program = new Command();
  addBackup(program, {
    withTools: async (_json, work) => {
      await work({ backUp } as BackupTools);
    },
  });
  const run = program.parseAsync(['backup', '--to', 'place', ...args], { from: 'user' });
  await expect(run).rejects.toThrow('the copy ends here');
  return lines;
}

describe('the progress of a backup (R255)', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
  });

  const copy = (onProgress: OnProgress) => {
    for (let second = 1; second <= 25; second += 1) {
      jest.advanceTimersByTime(1_000);
      onProgress(second * 10 * MB, 200 * MB);
    }
  };

  it('is a line every 10 s, in which the copy is never larger than expected', async () => {
    expect(await shown([], copy)).toEqual(['backup: 100 MB of 200 MB\n', 'backup: 200 MB of 200 MB\n']);
    expect(
      await shown([], (onProgress) => {
        jest.advanceTimersByTime(10_000);
        onProgress(250 * MB, 200 * MB);
      }),
    ).toEqual(['backup: 250 MB of 250 MB\n']);
  });

  it('is not in the way of --json', async () => {
    expect(await shown(['--json'], copy)).toEqual([]);
  });
});
