/** Finds the lines that the gateway can log, by reading its source. */
import { globSync, readFileSync } from 'node:fs';

export interface LogEvent {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  /** The message of the log line. Parts that vary are `…`. */
  readonly message: string;
}

const CALL = /\b\w*ogger\.(debug|info|warn|error)\(|new OutageLog\(/g;
const LITERAL = /'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g;

/** Returns all calls of loggers in `src`, and the two lines of each `OutageLog`. */
export function logEvents(): LogEvent[] {
  return globSync('src/**/*.ts').flatMap((file) => {
    if (file.startsWith('src/console/') || file.endsWith('runtime/outage-log.ts')) return [];
    const text = readFileSync(file, 'utf8');
    return [...text.matchAll(CALL)].flatMap(({ 0: call, 1: level, index }) => {
      const given = argumentsAt(text, index + call.length);
      const said = (argument = '') => messagesIn(argument, text, `${file}: ${call}${given.join()}`);
      if (level !== undefined) {
        return said(given[1]).map((message) => ({ level: level as LogEvent['level'], message }));
      }
      const [failing, works] = [said(given[1]), said(given[2])];
      return [
        ...failing.map((message) => ({ level: 'warn' as const, message })),
        ...works.map((message) => ({ level: 'info' as const, message })),
      ];
    });
  });
}

/** Returns the arguments of a call. Its parenthesis opens just before `start`. */
function argumentsAt(text: string, start: number): string[] {
  const found: string[] = [];
  let depth = 1;
  let from = start;
  for (let at = start; depth > 0; at++) {
    const sign = text[at];
    if (sign === undefined) throw new Error('a call does not end');
    if (sign === "'" || sign === '"' || sign === '`') {
      LITERAL.lastIndex = at;
      const literal = LITERAL.exec(text);
      if (literal?.index === at) at += literal[0].length - 1;
    } else if ('([{'.includes(sign)) depth += 1;
    else if (')]}'.includes(sign)) depth -= 1;
    if ((depth === 1 && sign === ',') || depth === 0) {
      found.push(text.slice(from, at).trim());
      from = at + 1;
    }
  }
  return found;
}

/** Returns the texts of an argument. They are its literals, joined by `+`, or those of the constant that it names. */
function messagesIn(argument: string, text: string, where: string): string[] {
  const constant = /^\w+$/.test(argument) && new RegExp(`const ${argument} =([^;]*);`).exec(text)?.[1];
  const source = constant || argument;
  LITERAL.lastIndex = 0;
  const texts = [...source.matchAll(LITERAL)].map(([, one, two, three]) =>
    (one ?? two ?? three ?? '').replace(/\\(.)/g, '$1').replace(/\$\{[^}]*\}+/g, '…'),
  );
  if (texts.length === 0) throw new Error(`${where} has no message that can be found in the text`);
  return source.includes(' ? ') ? texts : [texts.join('')];
}
