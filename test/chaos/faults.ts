// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the edits are source text.
/**
 * `npm run chaos:faults` checks that the harness finds known faults. It puts one fault at a time into a copy of the
 * source and runs seeds until the harness finds it. A fault is a list of edits. An edit whose text is no longer in the
 * source stops the run.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

interface Edit {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

const ROOT = join(import.meta.dirname, '../..');
const COPIED = ['bin', 'src', 'sdk/typescript/src', 'migrations', 'schema', 'test', 'tools', 'package.json'];
/** Time to wait for rest. Shorter than normal, because a run with a fault often never comes to rest. */
const REST_SECONDS = '45';
const CONFIGURATIONS = ['tsconfig.json', 'tsconfig.build.json'];

interface Fault {
  readonly what: string;
  readonly edits: readonly Edit[];
  /** The theme (kind of disorders) of the seeds that search for this fault. */
  readonly theme: string;
  /** Duration of each seed, if the disorder needs longer than the default to show this fault. */
  readonly seconds?: number;
}

const FAULTS: Readonly<Record<string, Fault>> = {
  f1: {
    what: 'a commit whose answer is lost is answered 503 "try again", and nothing bounds a wait for a lock',
    theme: 'network',
    edits: [
      {
        file: 'src/storage/postgres/session-settings.ts',
        from: "lock_timeout: '5s'",
        to: "lock_timeout: '0'",
      },
      {
        file: 'src/storage/postgres/session-settings.ts',
        from: "statement_timeout: '12s'",
        to: "statement_timeout: '0'",
      },
      {
        file: 'src/storage/postgres/pipeline.ts',
        from: 'const error = isFateUnknown ? new Undecided(cause) : cause;',
        to: 'const error = isFateUnknown && false ? new Undecided(cause) : cause;',
      },
    ],
  },
  f2: {
    what: 'a process that stands still inside a transaction keeps its locks',
    theme: 'processes',
    seconds: 45,
    edits: [
      {
        file: 'src/storage/postgres/session-settings.ts',
        from: "idle_in_transaction_session_timeout: '5s'",
        to: "idle_in_transaction_session_timeout: '0'",
      },
    ],
  },
  f3: {
    what: "the machine's clock decides about rows",
    theme: 'processes',
    edits: [
      {
        file: 'src/storage/postgres/database-clock.ts',
        from: 'return new Date(Math.floor(nowMs));',
        to: 'return new Date();',
      },
      {
        file: 'src/storage/intake/intake-write.ts',
        from: 'least(n.asked, ${LATEST})',
        to: 'least(n.asked, n.asked + 0 * (${LATEST} - now()))',
      },
      {
        file: 'src/storage/intake/intake-write.ts',
        from: 'WHEN idempotency_records.expires_at <= now()',
        to: 'WHEN idempotency_records.expires_at <= (SELECT max(asked) FROM account)',
      },
    ],
  },
  f4: {
    what: 'readers see what is not on the disk yet',
    theme: 'database',
    edits: [
      {
        file: 'src/storage/postgres/pipeline.ts',
        from: 'const [rows] = await Promise.all([this.add<Row>(statement), this.add(READ_ON_DISK)]);\n    return rows;',
        to: 'return this.add<Row>(statement);',
      },
      {
        file: 'src/storage/postgres/pipeline.ts',
        from: 'if (this.#isTold && !this.#isEarly',
        to: 'if (this.#isTold && false && !this.#isEarly',
      },
    ],
  },
  f5: {
    what: 'a lease that was lost is renewed',
    theme: 'processes',
    seconds: 45,
    edits: [
      {
        file: 'src/queue/job-rows.ts',
        from: 'return rows.filter(({ id }) => !kept.has(id));',
        to: 'return rows.filter(({ id }) => !kept.has(id) && false);',
      },
      { file: 'src/queue/lease.ts', from: '[performance.now(), Date.now()]', to: '[performance.now()]' },
    ],
  },
  f6: {
    what: 'a report with another number is applied to the message of its id',
    theme: 'processes and carrier',
    edits: [
      {
        file: 'src/storage/stores/report.store.ts',
        from: 'if (named || !acceptsOtherNumber) return named;\n',
        to: 'if (named) return named;\n  if (!acceptsOtherNumber) return sorted[0];\n',
      },
    ],
  },
  h1: {
    what: 'commits resolve before they are on the disk',
    theme: 'database',
    edits: [
      {
        file: 'src/storage/postgres/pipeline.ts',
        from: 'this.#waiting.push({ ...NO_WAIT, told: unheard }, commit, { ...ON_DISK, told: unheard });',
        to: 'this.#waiting.push({ ...NO_WAIT, told: unheard }, commit);',
      },
    ],
  },
  h2: {
    what: 'a report appended to the spool during a replay is taken for applied',
    theme: 'network',
    edits: [
      { file: 'src/storage/report-spool.ts', from: 'Math.max(from, size)', to: 'Math.max(from, file.size)' },
    ],
  },
  h3: {
    what: 'a recipient that may have been sent is refunded at once',
    theme: 'network and carrier',
    edits: [
      {
        file: 'src/domain/messages/transition-recipients.ts',
        from: 'if (possiblySent) deferred.push(refund);',
        to: 'if (possiblySent && false) deferred.push(refund);',
      },
    ],
  },
  h4: {
    what: 'two moves of a recipient in one batch both count',
    theme: 'network and carrier',
    edits: [
      {
        file: 'src/domain/messages/transition-recipients.ts',
        from: 'const allowed = firstOfEach(moves.filter((move) => canMove(move.from, move.to)));',
        to: 'const allowed = moves.filter((move) => canMove(move.from, move.to));\n  void firstOfEach;',
      },
    ],
  },
  h5: {
    what: 'of two parts whose reports come at once each misses the other',
    theme: 'network',
    edits: [
      {
        file: 'src/storage/stores/report.store.ts',
        from: '    await this.#sql.execute(LOCK_MESSAGES, [delivered.map((row) => row.message_id)]);\n',
        to: '    void LOCK_MESSAGES;\n',
      },
    ],
  },
  h6: {
    what: "the carrier's answer is forgotten while the database is away",
    theme: 'network',
    edits: [
      {
        file: 'src/workers/submit/submit-outcomes.ts',
        from: 'if (!this.#options.isFault(error) || performance.now() >= this.#deadline) throw error;',
        to: 'if (this.#deadline > 0) throw error;',
      },
    ],
  },
  h7: {
    what: 'a claimed message can be canceled',
    theme: 'network',
    edits: [
      {
        file: 'src/domain/messages/message-operations.ts',
        from: "return recipient.status === 'pending' && !recipient.isClaimed;",
        to: "return recipient.status === 'pending';",
      },
    ],
  },
  h8: {
    what: 'keys that end while notifications are not heard go on working',
    theme: 'network',
    edits: [
      {
        file: 'src/storage/postgres/pg-changes.ts',
        from: 'for (const subscriber of this.#subscribers) subscriber.onChange(undefined);',
        to: '',
      },
    ],
  },
  h9: {
    what: 'events have the time of the carrier instead of the commit',
    theme: 'network',
    edits: [
      {
        file: 'src/domain/messages/transition-recipients.ts',
        from: 'rulesOf(message.channel).moveEvent?.(message, move, recipient, now);',
        to: 'rulesOf(message.channel).moveEvent?.(message, move, recipient, move.at);',
      },
    ],
  },
  h10: {
    what: 'refunds have the time of the carrier instead of the commit',
    theme: 'network and carrier',
    seconds: 45,
    edits: [
      {
        file: 'src/domain/messages/transition-recipients.ts',
        from: 'else refunds.push(refundEntry(refund, now));',
        to: 'else refunds.push(refundEntry(refund, move.at));',
      },
    ],
  },
  h11: {
    what: 'times go back along the numbers of messages',
    theme: 'network',
    edits: [
      {
        file: 'src/storage/intake/intake-write.ts',
        from: 'greatest(a.last_accepted_at, ${EARLIEST}, least(n.asked, ${LATEST}))',
        to: 'greatest(${EARLIEST}, least(n.asked, ${LATEST}))',
      },
    ],
  },
  h12: {
    what: 'leases of processes that are gone are not taken over',
    theme: 'processes',
    edits: [
      {
        file: 'src/queue/job-leases.ts',
        from: 'WHERE due_at < now() ORDER BY due_at',
        to: "WHERE due_at < now() - interval '1 day' ORDER BY due_at",
      },
    ],
  },
  h13: {
    what: 'a job ends apart from the record of its work',
    theme: 'network',
    edits: [
      {
        file: 'src/workers/open-job.ts',
        from: '  await uow.run(async (tx) => {\n    await record(tx);\n    await tx.jobs.end(\n      [...counts].filter(([job, count]) => job.unrecorded === count).map(([job]) => job.held),\n    );\n  });',
        to: '  await uow.run((tx) => tx.jobs.end(\n      [...counts].filter(([job, count]) => job.unrecorded === count).map(([job]) => job.held),\n    ));\n  await uow.run(record);',
      },
    ],
  },
  h14: {
    what: 'reports whose sid was recorded at the same moment are not looked for',
    theme: 'network',
    edits: [
      {
        file: 'src/workers/start-workers.ts',
        from: "repeat('kept delivery reports', KEPT_REPORTS_MS, logger, () => reports.matchKept()),",
        to: '',
      },
    ],
  },
};

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '100' },
    seconds: { type: 'string', default: '15' },
    parallel: { type: 'string', default: '1' },
    check: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  process.stdout.write(`Usage: npm run chaos:faults -- [--only f1,h2,…] [--seed N] [--seeds COUNT] [--seconds S] [--parallel N] [--check]

--only      these faults only
--seed      begins with this seed (1)
--seeds     gives up on a fault after so many seeds (100)
--seconds   for how long clients send in a seed (15), unless the fault says how long it needs
--parallel  looks for so many faults at the same time (1)
--check     only looks whether every fault still fits the source
`);
  process.exit(0);
}

const chosen = values.only?.split(',') ?? Object.keys(FAULTS);
const left = chosen.map((name): [string, Fault] => {
  const fault = FAULTS[name];
  if (!fault) throw new Error(`there is no fault ${name}: ${Object.keys(FAULTS).join(', ')}`);
  for (const edit of fault.edits) edited(name, edit);
  return [name, fault];
});
if (values.check) {
  process.stdout.write(`${chosen.length} faults fit the source\n`);
  process.exit(0);
}
const notFound: string[] = [];
await Promise.all(Array.from({ length: Number(values.parallel) }, lookForNext));
process.exit(notFound.length > 0 ? 1 : 0);

async function lookForNext(): Promise<void> {
  for (let next = left.shift(); next; next = left.shift()) {
    const [name, fault] = next;
    const seconds = fault.seconds ?? Number(values.seconds);
    process.stdout.write(`${name} ${fault.what}: ${await look(name, fault, seconds)}\n`);
  }
}

/** Returns the source with the edit. Throws if the text to replace is not in the file. */
function edited(name: string, { file, from, to }: Edit, tree = ROOT): string {
  const text = readFileSync(join(tree, file), 'utf8');
  if (!text.includes(from)) throw new Error(`fault ${name} does not fit ${file} any more: ${from}`);
  return text.replaceAll(from, () => to);
}

/** Runs seeds on a copy of the source with the fault. Resolves with the seed that found the fault, and its output. */
async function look(name: string, { edits, theme }: Fault, seconds: number): Promise<string> {
  const tree = mkdtempSync(join(tmpdir(), `gateway-fault-${name}-`));
  try {
    for (const part of [...COPIED, ...CONFIGURATIONS])
      cpSync(join(ROOT, part), join(tree, part), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
    for (const edit of edits) writeFileSync(join(tree, edit.file), edited(name, edit, tree));
    const { seed, seeds } = values;
    const args = ['--seed', seed, '--seeds', seeds, '--seconds', String(seconds), '--theme', theme];
    const flags = ['--rest', REST_SECONDS, '--until-failure', '--whole'];
    const child = spawn(process.execPath, ['test/chaos/main.ts', ...args, ...flags], { cwd: tree });
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (data: Buffer) => {
        said += data;
        process.stderr.write(data.toString().replace(/^(?=.)/gm, `  ${name} `));
      });
    await once(child, 'close');
    const [, found, first] = /^seed (\d+): \d+ faults.*\n +(.*)/m.exec(said) ?? [];
    if (found !== undefined) return `seed ${found} of ${seconds} s (${theme}): ${first}`;
    if (!/^seed \d+: ok/m.test(said)) throw new Error(`no seed was run for fault ${name}: ${said}`);
    notFound.push(name);
    return `not found in ${seeds} seeds of ${seconds} s (${theme})`;
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
}
