import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { VERSION } from '../../sdk/typescript/src/version.ts';

const SDK = new URL('../../sdk/', import.meta.url);

describe('the generated part of the SDKs', () => {
  it('is committed as it is: npm run sdk:generate writes it', async () => {
    // In a separate process: TypeScript 5 is slow to load inside jest.
    const program = `
      import { generatedFiles } from './generate.js';
      console.log(JSON.stringify([...(await generatedFiles())]));`;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '--eval', program],
      {
        cwd: fileURLToPath(SDK),
        maxBuffer: 16 * 1024 * 1024,
      },
    );
    for (const [path, text] of JSON.parse(stdout)) {
      expect([path, readFileSync(new URL(path, SDK), 'utf8')]).toEqual([path, text]);
    }
  });

  it('has the version of its package', () => {
    const manifest = JSON.parse(readFileSync(new URL('typescript/package.json', SDK), 'utf8'));
    expect(VERSION).toBe(manifest.version);
  });
});
