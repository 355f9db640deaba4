/** Errors about an operation's input, in the words of the person who typed a command. */
import type { Command } from 'commander';
import { DomainError } from '../domain/errors.ts';

/** Options that have another name than the field of the operation, by field. */
const OPTION_OF_FIELD: Readonly<Record<string, string>> = {
  accountId: 'account',
  expiresAt: 'expires',
  ipAllowlist: 'allowIp',
  perMinute: 'rateLimit',
};

/** A name such as `contentDays` in the text of a fault. After a quotation mark it is what the person typed. */
const FIELD_IN_TEXT = /(?<!["\w])[a-z]+[A-Z]\w*/g;

/**
 * Returns an error that names the options of `command` where `error` names fields of an operation (R585). Returns any
 * other error as it is.
 */
export function namingOptions(error: unknown, command: Command | undefined): unknown {
  if (!command || !(error instanceof DomainError) || error.faults.length === 0) return error;
  const options = new Map(command.options.map((option) => [option.attributeName(), option.long]));
  const optionOf = (field: string) => options.get(OPTION_OF_FIELD[field] ?? field);
  const lines = error.faults.map(({ path, message }) => {
    const [field = '', index] = path.split('.');
    const option = optionOf(field);
    const text = message.replace(FIELD_IN_TEXT, (word) => optionOf(word) ?? word);
    if (option === undefined) return path === '' ? text : `${path}: ${text}`;
    const entry = index !== undefined && /^\d+$/.test(index) ? `, entry ${Number(index) + 1}` : '';
    return `${option}${entry}: ${text}`;
  });
  return new Error(lines.join('; '), { cause: error });
}
