import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

const UNIT = join(import.meta.dirname, '../../deploy/systemd/messaging-gateway.service');

/** Runs `work` while the program and its documents are installed where the systemd unit expects them. */
function withInstalled(work: () => void): void {
  const place = '/opt/messaging-gateway/docs/operations';
  mkdirSync(place, { recursive: true });
  cpSync(join(import.meta.dirname, '../../bin'), '/opt/messaging-gateway/bin', { recursive: true });
  try {
    work();
  } finally {
    rmSync('/opt/messaging-gateway', { recursive: true });
  }
}

it('is a unit without a fault', () => {
  withInstalled(() => {
    const directory = mkdtempSync(join(tmpdir(), 'unit-'));
    cpSync(UNIT, join(directory, 'messaging-gateway.service'));
    const { status, stderr } = spawnSync(
      'systemd-analyze',
      ['verify', join(directory, 'messaging-gateway.service')],
      {
        encoding: 'utf8',
      },
    );
    rmSync(directory, { recursive: true });
    expect(stderr).toBe('');
    expect(status).toBe(0);
  });
});

it('is exposed less than systemd calls medium', () => {
  const report = execFileSync('systemd-analyze', ['security', '--offline=true', '--no-pager', UNIT], {
    encoding: 'utf8',
  });
  const exposure = Number(/Overall exposure level for \S+: ([\d.]+)/.exec(report)?.[1]);
  expect(exposure).toBeLessThan(2);
});
