/** Records the REST answers of tests, so that other tools can judge them (`npm run test:clients`). */
import { appendFileSync, readFileSync } from 'node:fs';

export interface RecordedAnswer {
  readonly method: string;
  /** The path after `/api/v1`, with its query. */
  readonly path: string;
  readonly requestBody: string | null;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** Appends an answer to the file of `RECORD_ANSWERS`. Does nothing if the variable is not set. */
export function recordAnswer({
  method,
  path,
  body,
  answer,
}: {
  method: string;
  path: string;
  body: unknown;
  answer: { readonly status: number; readonly headers: Headers; readonly text: string };
}): void {
  const file = process.env.RECORD_ANSWERS;
  if (file === undefined) return;
  const recorded: RecordedAnswer = {
    method,
    path,
    requestBody: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
    status: answer.status,
    headers: Object.fromEntries(answer.headers),
    text: answer.text,
  };
  appendFileSync(file, `${JSON.stringify(recorded)}\n`);
}

/** Returns the answers in the file. */
export function readRecordedAnswers(file: string): RecordedAnswer[] {
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as RecordedAnswer);
}
