import { createReadStream, createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Command, Option } from 'commander';
import { checkExport, EXPORT_COLUMNS, exportCsv } from '../domain/audit/audit-export.ts';
import type { AuditCheck } from '../domain/audit/audit-operations.ts';
import { CLI, type CliGateway, type CliRunner, examples, group, leaf } from './command.ts';
import type { CliAnswer } from './output.ts';

/** The commands that check and export the audit log. */
export function addAudit(program: Command, runner: CliRunner): void {
  const audit = group(program, 'audit', 'the log of changes', 'verify');
  leaf(audit, 'verify', 'check that no entry of the audit log was changed, moved or taken out')
    .option('--file <path>', 'check an export (JSON lines) instead, without the gateway')
    .option('--part', 'the export has a part of the log only: check its lines, not that none is missing')
    .addHelpText(
      'after',
      examples(
        'audit verify',
        'audit verify --file audit.jsonl',
        'audit verify --file of-one-person.jsonl --part',
      ),
    )
    .action(({ json, file, part }) =>
      file === undefined
        ? runner.run(json, async ({ operations }) => verdictOf(await operations.audit.verify.run(CLI, {})))
        : runner.withTools(json, () => verifyFile(file, part)),
    );
  leaf(audit, 'export', 'write the whole audit log, with the hash chain, to a file')
    .requiredOption('--file <path>', 'a file, which must not exist')
    .addOption(
      new Option('--format <format>', 'jsonl, which audit verify --file checks, or csv')
        .choices(['jsonl', 'csv'])
        .default('jsonl'),
    )
    .addHelpText(
      'after',
      examples('audit export --file audit.jsonl', 'audit export --file audit.csv --format csv'),
    )
    .action(({ json, file, format }) =>
      runner.run(json, async ({ operations }) => ({ json: await exportTo(operations, file, format) })),
    );
}

function verdictOf(found: AuditCheck): CliAnswer {
  if (found.isIntact) return { json: found };
  const { entries, brokenAt, lostUpTo } = found;
  if (lostUpTo !== null) {
    const failure =
      `The audit log ends at entry ${entries}, but the head in DATA_DIR is of entry ${lostUpTo}. A recovery to an earlier ` +
      'time loses the entries after that time. If you recovered nothing, somebody cut them off.';
    return { json: found, failure };
  }
  const failure =
    brokenAt === null
      ? 'The signed head of the audit log is missing, or no master key opens it. If you changed the key, add the ' +
        'previous one to MASTER_KEY_PREVIOUS.'
      : `The audit log is broken at entry ${brokenAt}.`;
  return { json: found, failure };
}

async function verifyFile(path: string, isPart?: boolean): Promise<CliAnswer> {
  const lines = createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY });
  let start: string | undefined;
  async function* seen() {
    for await (const line of lines) {
      start ??= line;
      yield line;
    }
  }
  const found = await checkExport(seen(), { isPart });
  if (found.isIntact) return { json: found };
  if (found.entries === 0 && !start?.startsWith('{'))
    return {
      json: found,
      failure: `${path} has no JSON lines: check what audit export --format jsonl wrote.`,
    };
  return { json: found, failure: `The export is broken at line ${found.brokenLine}.` };
}

async function exportTo(
  { audit }: CliGateway['operations'],
  path: string,
  format: 'jsonl' | 'csv',
): Promise<{ file: string; entries: number }> {
  let entries = 0;
  async function* lines() {
    if (format === 'csv') yield `${EXPORT_COLUMNS.join(',')}\r\n`;
    for (;;) {
      const page = await audit.exportAfter.run(CLI, { seq: entries });
      if (page.length === 0) return;
      entries += page.length;
      yield page.map((line) => (format === 'csv' ? `${exportCsv(line)}\r\n` : `${line}\n`)).join('');
    }
  }
  // Only the owner may read the file, because the log contains IP addresses and email addresses of people.
  const file = createWriteStream(path, { flags: 'wx', mode: 0o600 });
  await pipeline(Readable.from(lines()), file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
    throw new Error(`${path} exists already: name a file that does not exist.`, { cause: error });
  });
  return { file: path, entries };
}
