/** Compares the times of the files in deploy/ and of the documents with those of the process. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import { CLOSE_MS, DRAIN_MS } from '../../src/start/stop-times.ts';

const read = (path: string) => readFileSync(join(import.meta.dirname, '../..', path), 'utf8');
const secondsIn = (text: string, pattern: RegExp) => Number(pattern.exec(text)?.[1]);
const stopSeconds = (DRAIN_MS + CLOSE_MS) / 1_000;

it.each([
  [
    'the systemd unit',
    () => secondsIn(read('deploy/systemd/messaging-gateway.service'), /^TimeoutStopSec=(\d+)$/m),
  ],
  [
    'the compose file',
    () => secondsIn(parse(read('deploy/compose.yaml')).services.gateway.stop_grace_period, /^(\d+)s$/),
  ],
  [
    'the Kubernetes manifest',
    () => {
      const set = parseAllDocuments(read('deploy/kubernetes/gateway.yaml'))
        .map((document) => document.toJS())
        .find(({ kind }) => kind === 'StatefulSet');
      return set.spec.template.spec.terminationGracePeriodSeconds;
    },
  ],
  ['running.md', () => secondsIn(read('docs/operations/running.md'), /Kill it after (\d+) seconds/)],
  ['upgrading.md', () => secondsIn(read('docs/operations/upgrading.md'), /Wait for (\d+) seconds before/)],
])('%s waits longer than a stop may take (R540)', (_, waits) => {
  expect(waits()).toBeGreaterThan(stopSeconds);
});

it.each(['docs/operations/running.md', 'docs/operations/upgrading.md'])(
  '%s says how long a stop takes (R540)',
  (path) => {
    const [, drain, close] =
      /(?:at most|within) (\d+) seconds, closes .*?within (\d+) more/.exec(read(path)) ?? [];
    expect([Number(drain), Number(close)]).toEqual([DRAIN_MS / 1_000, CLOSE_MS / 1_000]);
  },
);
