/**
 * The answer of a command. With `--json` it prints `json`, otherwise `text`. If `failure` is set, the exit code is 1.
 */
export interface CliAnswer {
  readonly json: object;
  /** Text for people. Default: the fields of `json`, one per line. */
  readonly text?: string;
  /** One line that is printed to stderr. */
  readonly failure?: string;
}

/** Prints the fields of an answer, one per line, with the values in one column. */
export function asText(value: object): string {
  const rows = flatten('', value);
  const width = Math.max(0, ...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `${name.padEnd(width)}  ${text}`.trimEnd()).join('\n');
}

/** Control characters and line separators. In a table they could move the cursor of a terminal, or end a row. */
const UNSHOWN = /[\p{Cc}\p{Zl}\p{Zp}]/gu;

/** Prints a head and one line for each row, with the values in columns. */
export function asTable<Column extends string>(
  columns: readonly Column[],
  rows: readonly Readonly<Record<Column, string>>[],
): string {
  const cells = [
    columns,
    ...rows.map((row) => columns.map((column) => row[column].replace(UNSHOWN, '\u{fffd}'))),
  ];
  const widths = columns.map((_, index) => Math.max(...cells.map((line) => line[index]?.length ?? 0)));
  return cells
    .map((line) =>
      line
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function flatten(name: string, value: unknown): [string, string][] {
  if (Array.isArray(value)) return [[name, value.join(', ')]];
  if (typeof value !== 'object' || value === null) return [[name, value === null ? '-' : String(value)]];
  return Object.entries(value).flatMap(([key, inner]) =>
    flatten(name === '' ? key : `${name}.${key}`, inner),
  );
}

/** By SQLSTATE code: what an operator can do about an error of PostgreSQL. */
const ADVICE: Readonly<Record<string, string>> = {
  '28000': 'Check the user in DATABASE_URL.',
  '28P01': 'Check the user and the password in DATABASE_URL.',
  '3D000': 'Create it, or name another in DATABASE_URL.',
  '42501':
    'The user in DATABASE_URL must own the database, and may call what PostgreSQL lets every user call.',
  '25006': 'It is a standby, or set to read-only: name the primary in DATABASE_URL, or let it take writes.',
  '53200': 'Give the database more memory, or fewer connections.',
  '53300': 'End connections that nobody needs, or raise max_connections.',
  '53100': "Make room on the database's disk: that of DATA_DIR, unless DATABASE_URL is set.",
};

/**
 * Describes an error and what the operator can do, in one line. `isUnreachable` returns true for errors which mean that
 * the database cannot be reached.
 */
export function errorLine(error: unknown, isUnreachable: (error: unknown) => boolean): string {
  const message = messageOf(error)
    .trim()
    .split(/\s*\n\s*/)
    .join(' ');
  const advice = ADVICE[(error as { code?: string } | undefined)?.code ?? ''];
  if (advice !== undefined) return `${message}. ${advice}`;
  return isUnreachable(error) ? `The database cannot be reached: ${message}. Check DATABASE_URL.` : message;
}

export function messageOf(error: unknown): string {
  // If Node tried several IP addresses, the error has no message of its own. Only the errors inside it have messages.
  if (error instanceof AggregateError) return [...new Set(error.errors.map(messageOf))].join(', ');
  if (!(error instanceof Error)) return String(error);
  // Knex puts the query and its values before the server's message. Drop them, because they may contain secrets.
  if ('severity' in error) return String(error.message.split(' - ').at(-1));
  return error.message || error.name;
}
