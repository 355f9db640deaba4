/** A Debian that systemd runs, in a directory of this machine. Needs root, debootstrap and systemd-nspawn. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../support/eventually.ts';

export interface Machine {
  readonly root: string;
  /** Starts systemd. The machine has the network of this one. `binds` are directories of this one, by path there. */
  boot(binds: Readonly<Record<string, string>>): Promise<void>;
  /** Runs systemctl. Returns what it prints. */
  systemctl(...args: string[]): string;
  /** Returns the journal of a unit. */
  journal(unit: string): string;
  /** Returns the content of a file, also of one in the machine's /proc. */
  read(path: string): string;
  remove(): Promise<void>;
}

/** Installs Debian with systemd. */
export function installMachine(): Machine {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-machine-'));
  const root = join(directory, 'root');
  const packages = 'systemd,systemd-sysv,dbus,ca-certificates';
  execFileSync('debootstrap', ['--variant=minbase', `--include=${packages}`, 'bookworm', root], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  let nspawn: ChildProcess | undefined;
  let said = '';
  const run = (...command: string[]) => {
    const { pid = 0 } = nspawn ?? {};
    const [init] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ');
    if (!init) throw new Error(`systemd does not run: ${said}`);
    return spawnSync('nsenter', ['--target', init, '--all', '--root', ...command], { encoding: 'utf8' });
  };
  return {
    root,
    async boot(binds) {
      // Without a unit and a registration of its own, because this machine may have no systemd that runs.
      const args = ['--boot', '--register=no', '--keep-unit', '--quiet', '--directory', root];
      const bound = Object.entries(binds).map(([there, here]) => `--bind=${here}:${there}`);
      nspawn = spawn('systemd-nspawn', [...args, ...bound], { stdio: ['ignore', 'pipe', 'pipe'] });
      for (const stream of [nspawn.stdout, nspawn.stderr]) stream?.on('data', (text) => (said += text));
      await eventually(() => {
        if (nspawn?.exitCode !== null) throw new Error(`systemd-nspawn ended: ${said}`);
        return run('systemctl', 'is-active', 'multi-user.target').stdout.trim() === 'active';
      }, 120_000);
    },
    systemctl: (...args) => {
      const { status, stdout, stderr } = run('systemctl', ...args);
      if (status !== 0) throw new Error(`systemctl ${args.join(' ')} ended with ${status}: ${stderr}`);
      return stdout.trim();
    },
    journal: (unit) => run('journalctl', '--no-pager', '--output=cat', '--unit', unit).stdout,
    read: (path) => run('cat', path).stdout,
    async remove() {
      if (nspawn && nspawn.exitCode === null) {
        const ended = once(nspawn, 'close');
        run('systemctl', 'poweroff');
        await ended;
      }
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
