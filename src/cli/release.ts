import type { Command } from 'commander';
import type { Decision, Release } from '../domain/recovery/recovery-operations.ts';
import { CLI, type CliRunner, examples, leaf } from './command.ts';
import type { CliAnswer } from './output.ts';

/** The command that ends the hold of a restored or copied database. */
export function addRelease(program: Command, runner: CliRunner): void {
  leaf(
    program,
    'release',
    'let a restored, recovered or copied gateway send again, and decide about what is unknown',
  )
    .option('--since <time>', 'only what was to leave since then is unknown, ISO 8601 with Z or an offset')
    .option('--send', 'send what is unknown: some recipients may get it twice')
    .option('--mark', 'mark what is unknown as failed (outcome_unknown); it is refunded after 72 hours')
    .addHelpText(
      'after',
      `${examples('release', 'release --mark', 'release --since 2026-11-24T09:30:00Z --send')}
Without --send and --mark it tells what is unknown, and releases only where nothing is.
`,
    )
    .action(({ json, since, send, mark }) => {
      if (send && mark) throw new Error('--send and --mark exclude each other.');
      const decision: Decision | undefined = send ? 'send' : mark ? 'mark' : undefined;
      return runner.run(json, async ({ operations }) =>
        describe(await operations.recovery.release.run(CLI, { since, decision })),
      );
    });
}

function describe(release: Release): CliAnswer {
  const { hold, unknown, marked, isReleased } = release;
  const channels = Object.entries(unknown.byChannel).map(([channel, count]) => `${channel} ${count}`);
  const lines = [
    hold
      ? `held since ${hold.at.toISOString()} (${hold.reason})${hold.dataUntil ? `; the data is known to be whole until ${hold.dataUntil.toISOString()}` : ''}`
      : 'not held',
    `unknown: ${unknown.recipients} recipients of ${unknown.messages} messages${channels.length > 0 ? ` (${channels.join(', ')})` : ''}`,
    `pending for longer: ${unknown.older}; scheduled for later: ${unknown.scheduled}; both are sent as usual`,
    ...(marked > 0 ? [`marked as failed: ${marked} recipients`] : []),
    ...(hold && isReleased ? ['released: messages and webhooks are sent from now on'] : []),
  ];
  const failure =
    'Nothing is released: choose --send (some recipients may get a message twice) or --mark (they fail, and are refunded).';
  return { json: release, text: lines.join('\n'), ...(isReleased ? {} : { failure }) };
}
