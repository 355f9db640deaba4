import { DomainError } from '../domain/errors.ts';

/** What a command answers: `json` for `--json`, else `text`; with `failure` the exit code is 1. */
export interface CliAnswer {
  readonly json: object;
  /** For people; the members of `json`, one a line, when absent. */
  readonly text?: string;
  /** One line for stderr. */
  readonly failure?: string;
}

/** The members of an answer, one a line, with aligned names. */
export function asText(value: object): string {
  const rows = flatten('', value);
  const width = Math.max(0, ...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `${name.padEnd(width)}  ${text}`.trimEnd()).join('\n');
}

function flatten(name: string, value: unknown): [string, string][] {
  if (Array.isArray(value)) return [[name, value.join(', ')]];
  if (typeof value !== 'object' || value === null) return [[name, value === null ? '-' : String(value)]];
  return Object.entries(value).flatMap(([key, inner]) =>
    flatten(name === '' ? key : `${name}.${key}`, inner),
  );
}

/** An error as one line that the operator can act on. `faultOf` knows the infrastructure's errors. */
export function errorLine(error: unknown, faultOf: (error: unknown) => DomainError | undefined): string {
  const known = error instanceof DomainError ? error : faultOf(error);
  return oneLine(known ? `${known.message}` : messageOf(error));
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // A failed query's text and values, which may be anything, stand before the server's own words.
  if ('severity' in error) return `the database refused: ${error.message.split(' - ').at(-1)}`;
  return error.message || error.name;
}

function oneLine(text: string): string {
  return text
    .trim()
    .split(/\s*\n\s*/)
    .join(' ');
}
