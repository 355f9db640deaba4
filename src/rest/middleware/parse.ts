import type { z } from 'zod';
import { type FieldFault, validationError } from '../../domain/errors.ts';
import { faultText, unknownMembers } from './fault-text.ts';
import { checkText } from './request.ts';

/** Parses `value` with `schema`. Throws `validation_error` that lists all faults. */
export function parse(schema: z.ZodType, value: unknown): unknown {
  const result = schema.safeParse(value, { error: faultText, reportInput: true });
  if (result.success) {
    checkText(result.data);
    return result.data;
  }
  const unknown = unknownMembers(schema, value);
  const faults = result.error.issues.map(({ path, message, input }): FieldFault => {
    const isMisspelt = path.length === 1 && input === undefined && unknown.length > 0;
    return {
      path: path.map(String).join('.'),
      message: isMisspelt ? `${message} (unknown here: ${unknown.join(', ')})` : message,
    };
  });
  throw validationError(faults);
}
