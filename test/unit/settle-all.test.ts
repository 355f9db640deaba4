import { describe, expect, it } from '@jest/globals';
import { settleAll } from '../../src/domain/settle-all.ts';

describe('settleAll', () => {
  it('gives what each resolves with, in order', async () => {
    const later = new Promise<string>((resolve) => setImmediate(() => resolve('second')));
    expect(await settleAll([Promise.resolve(1), later])).toEqual([1, 'second']);
  });

  it('rejects with the first failure, after all others have settled', async () => {
    const steps: string[] = [];
    const slow = async () => {
      await new Promise((resolve) => setImmediate(resolve));
      steps.push('the slow one ended');
    };
    const failing = settleAll([Promise.reject(new Error('no')), slow(), Promise.reject(new Error('later'))]);
    await failing.catch((error: Error) => steps.push(error.message));
    expect(steps).toEqual(['the slow one ended', 'no']);
  });
});
