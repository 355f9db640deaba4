import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { loadOrCreateMasterKey } from '../../src/crypto/master-key.ts';

const MODULE = join(import.meta.dirname, '../../src/crypto/master-key.ts');

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gateway-key-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const file = () => join(directory, 'master.key');

describe('the generated master key', () => {
  it('is made once, readable by its owner only, and leaves no other file', async () => {
    const key = await loadOrCreateMasterKey(directory);
    expect(key).toHaveLength(32);
    expect(await loadOrCreateMasterKey(directory)).toEqual(key);
    expect(await readFile(file(), 'utf8')).toBe(`${key.toString('base64')}\n`);
    expect((await stat(file())).mode & 0o777).toBe(0o600);
    expect(await readdir(directory)).toEqual(['master.key']);
  });

  it('is the same for all processes that start at once', async () => {
    for (let round = 0; round < 20; round += 1) {
      const dataDir = join(directory, `round-${round}`);
      const keys = await Promise.all(Array.from({ length: 8 }, () => loadOrCreateMasterKey(dataDir)));
      expect(new Set(keys.map((key) => key.toString('base64'))).size).toBe(1);
    }
  });

  it('is not removed by a slower start that saw no key', async () => {
    const other = Buffer.alloc(32, 7).toString('base64');
    // Simulate another process that creates its key just before this process removes the file.
    const late = `
      import fs from 'node:fs/promises';
      import { writeFileSync } from 'node:fs';
      import { syncBuiltinESMExports } from 'node:module';
      const [file, module, directory] = process.argv.slice(1);
      const { rm, link } = fs;
      let isMade = false;
      const overtaken = (act) => (...paths) => {
        if (paths.includes(file) && !isMade) writeFileSync(file, ${JSON.stringify(other)});
        isMade ||= paths.includes(file);
        return act(...paths);
      };
      Object.assign(fs, { rm: overtaken(rm), link: overtaken(link) });
      syncBuiltinESMExports();
      console.log((await (await import(module)).loadOrCreateMasterKey(directory)).toString('base64'));`;
    const { stdout } = await promisify(execFile)(process.execPath, [
      ...['--input-type=module', '-e', late, file(), MODULE, directory],
    ]);
    expect(stdout.trim()).toBe(other);
    expect(await readFile(file(), 'utf8')).toBe(other);
  });

  it('is made on a file system without hard links', async () => {
    const without = `
      import fs from 'node:fs/promises';
      import { syncBuiltinESMExports } from 'node:module';
      const [module, directory] = process.argv.slice(1);
      fs.link = async () => {
        throw Object.assign(new Error('link: operation not permitted'), { code: 'EPERM', syscall: 'link' });
      };
      syncBuiltinESMExports();
      console.log((await (await import(module)).loadOrCreateMasterKey(directory)).toString('base64'));`;
    const { stdout } = await promisify(execFile)(process.execPath, [
      ...['--input-type=module', '-e', without, MODULE, directory],
    ]);
    expect(await readFile(file(), 'utf8')).toBe(stdout);
    expect((await stat(file())).mode & 0o777).toBe(0o600);
    expect(await readdir(directory)).toEqual(['master.key']);
  });

  it('is complete as soon as another process can see it', async () => {
    // A program that polls for the file. When it first sees the file, it prints the file's length.
    const look = `
      import { readFileSync } from 'node:fs';
      for (let round = 0; round < 100; round += 1) {
        console.log('looking');
        for (let seen; seen === undefined; ) {
          try { seen = readFileSync(process.argv[1] + '/round-' + round + '/master.key'); } catch {}
          if (seen) console.log(String(seen.length));
        }
      }`;
    const looker = spawn(process.execPath, ['--input-type=module', '-e', look, directory]);
    try {
      const lines = createInterface({ input: looker.stdout })[Symbol.asyncIterator]();
      for (let round = 0; round < 100; round += 1) {
        expect((await lines.next()).value).toBe('looking');
        await loadOrCreateMasterKey(join(directory, `round-${round}`));
        expect((await lines.next()).value).toBe('45');
      }
    } finally {
      looker.kill('SIGKILL');
    }
  });

  it('is complete or absent when the disk is full, and the next start makes it', async () => {
    const create = `await (await import(${JSON.stringify(MODULE)})).loadOrCreateMasterKey(${JSON.stringify(directory)})`;
    // Limit the file size to 0. Then the file is created, but the write fails, as on a full disk.
    const full = `trap '' XFSZ; ulimit -f 0; exec "$0" --input-type=module -e "$1"`;
    await expect(promisify(execFile)('/bin/sh', ['-c', full, process.execPath, create])).rejects.toThrow(
      'EFBIG',
    );
    expect(await readdir(directory)).toEqual([]);
    expect(await loadOrCreateMasterKey(directory)).toHaveLength(32);
  });

  it('is not replaced when the file holds something else or nothing', async () => {
    for (const text of ['c2hvcnQ=\n', '']) {
      await writeFile(file(), text);
      await expect(loadOrCreateMasterKey(directory)).rejects.toThrow(
        /master\.key does not hold a master key/,
      );
      expect(await readFile(file(), 'utf8')).toBe(text);
    }
  });
});
