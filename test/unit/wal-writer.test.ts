import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { WalWriter } from '../../src/storage/backup/wal-files.ts';

const SEGMENT = 16 * 1024 ** 2;
const SENT = 8 * 1024 ** 2;
const START = { timeline: 1, position: BigInt(SEGMENT) };

describe('the kept log (R351)', () => {
  it('keeps what was on the disk while the server sends a segment again', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'wal-writer-'));
    try {
      const first = await WalWriter.open(directory, '1', SEGMENT);
      await first.write(START, Buffer.alloc(SENT, 7));
      await first.flush();
      await first.close();
      const again = await WalWriter.open(directory, '1', SEGMENT);
      expect(await again.next()).toEqual(START);
      await again.write(START, Buffer.alloc(8_192, 7));
      await again.flush();
      await again.close();
      const kept = await stat(join(directory, 'wal', '000000010000000000000001.partial'));
      expect(kept.size).toBe(SENT);
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});
