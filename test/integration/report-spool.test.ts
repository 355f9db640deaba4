import { appendFile, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KeptReport } from '../../src/domain/ports/report-stores.ts';
import { FileReportSpool } from '../../src/storage/report-spool.ts';

let directory: string;
const opened: FileReportSpool[] = [];
beforeEach(async () => {
  directory = join(await mkdtemp(join(tmpdir(), 'spool-')), 'reports');
});
afterEach(async () => {
  for (const spool of opened.splice(0)) await spool.close();
  await rm(join(directory, '..'), { recursive: true });
});

function openSpool(maxBytes = 2 ** 20): FileReportSpool {
  const spool = new FileReportSpool({ directory, maxBytes });
  opened.push(spool);
  return spool;
}

const receivedAt = new Date('2026-11-24T10:00:00.123Z');
const report = (sid: string): KeptReport => ({
  provider: 'smpp:gateway@127.0.0.1:2775',
  receivedAt,
  report: {
    sid,
    to: '256700123456',
    status: 'failed',
    code: 'UNDELIV',
    reason: 'läßt\nsich nicht "zustellen"',
  },
});
const reports = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => report(String(from + n)));

/** Reads and removes all spooled reports, as the gateway does when the database is back. */
async function drain(spool: FileReportSpool, most = 100): Promise<string[]> {
  const sids: string[] = [];
  let from = 0;
  for (let file = spool.oldest(); file !== undefined; file = spool.oldest()) {
    const batch = await spool.read(file, from, most);
    sids.push(...batch.reports.map((each) => each.report.sid));
    from = batch.to;
    if (batch.to === batch.from && (await spool.remove(file, from))) from = 0;
  }
  return sids;
}

describe('the spool of delivery reports', () => {
  it('returns reports in order, and leaves no file', async () => {
    const spool = openSpool();
    expect(spool.isEmpty).toBe(true);
    const first = spool.append([report('a'), report('b')]);
    expect(spool.isEmpty).toBe(false);
    await Promise.all([first, spool.append([report('c')])]);
    const file = spool.oldest() as string;
    expect((await spool.read(file, 0, 1)).reports).toEqual([report('a')]);
    expect(await drain(spool, 2)).toEqual(['a', 'b', 'c']);
    expect([spool.isEmpty, spool.bytes, await readdir(directory)]).toEqual([true, 0, []]);
  });

  it('keeps a file that grew after it was read', async () => {
    const spool = openSpool();
    const { spool: file, to } = await spool.append([report('a')]);
    await spool.append([report('b')]);
    expect(await spool.remove(file, to)).toBe(false);
    expect(await drain(spool)).toEqual(['a', 'b']);
  });

  it('[R15] loses nothing that is appended while it is read to its end', async () => {
    const spool = openSpool();
    const drained: string[] = [];
    let isOver = false;
    const draining = (async () => {
      while (!isOver || !spool.isEmpty) {
        drained.push(...(await drain(spool)));
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    // Append each report at a different moment of the concurrent read.
    for (let sid = 0; sid < 500; sid++) await spool.append([report(String(sid))]);
    isOver = true;
    await draining;
    expect(drained).toEqual(Array.from({ length: 500 }, (_, sid) => String(sid)));
  });

  it('is readable only by its user', async () => {
    if (process.platform === 'win32') return;
    await openSpool().append([report('a')]);
    const modes = (await readdir(directory)).map(
      async (name) => (await stat(join(directory, name))).mode & 0o777,
    );
    expect(new Set(await Promise.all(modes))).toEqual(new Set([0o600]));
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
  });

  it('is bounded, and accepts reports again when there is room', async () => {
    const spool = openSpool(10_000);
    await spool.append(reports(20));
    const before = spool.bytes;
    await expect(spool.append(reports(100))).rejects.toMatchObject({ code: 'service_unavailable' });
    expect([spool.bytes, spool.bytes > 2_000]).toEqual([before, true]);
    expect(await drain(spool)).toHaveLength(20);
    await spool.append([report('a')]);
    expect(await drain(spool)).toEqual(['a']);
    await expect(openSpool(0).append([report('a')])).rejects.toMatchObject({ code: 'service_unavailable' });
  });

  it('frees room file by file, and reads a file once for many reports', async () => {
    const spool = openSpool(64 * 2 ** 20);
    for (let from = 0; from < 40_000; from += 4_000) await spool.append(reports(4_000, from));
    expect((await readdir(directory)).filter((name) => name.endsWith('.jsonl')).length).toBeGreaterThan(1);
    const sids = await drain(spool, 500);
    expect(sids).toEqual(Array.from({ length: 40_000 }, (_, n) => String(n)));
  });

  it('passes to another process only when its own is gone', async () => {
    const living = openSpool();
    await living.append([report('a')]);
    const other = openSpool();
    expect(await other.adopt()).toBe(0);
    await living.close();
    expect(await other.adopt()).toBe(1);
    await other.append([report('b')]);
    expect(await other.adopt()).toBe(0);
    expect(await drain(other)).toEqual(['a', 'b']);
    expect(await readdir(directory)).toEqual([]);
  });

  it('skips an incomplete line that a crash left', async () => {
    const spool = openSpool();
    await spool.append([report('a')]);
    await spool.close();
    const [file = ''] = (await readdir(directory)).filter((name) => name.endsWith('.jsonl'));
    await appendFile(
      join(directory, file),
      'half a line\n{"at":"2026-11-24T10:00:00.123Z","provider":"x","rep',
    );
    const next = openSpool();
    await next.adopt();
    expect(await drain(next)).toEqual(['a']);
    expect(await readdir(directory)).toEqual([]);
  });

  it('reports that it cannot write, and keeps nothing', async () => {
    await writeFile(directory, 'a file where the directory should be');
    const spool = openSpool();
    await expect(spool.append([report('a')])).rejects.toMatchObject({ code: 'service_unavailable' });
    expect(spool.isEmpty).toBe(true);
    await rm(directory);
    await spool.append([report('b')]);
    expect(await drain(spool)).toEqual(['b']);
  });
});
