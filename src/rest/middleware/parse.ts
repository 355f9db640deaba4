import type { z } from 'zod';
import { type FieldFault, validationError } from '../../domain/errors.ts';
import { checkText } from './request.ts';

/** Parses `value` with `schema`. Throws `validation_error` that lists all faults. */
export function parse(schema: z.ZodType, value: unknown): unknown {
  const result = schema.safeParse(value);
  if (result.success) {
    checkText(result.data);
    return result.data;
  }
  const faults = result.error.issues.map((issue): FieldFault => {
    return { path: issue.path.map(String).join('.'), message: issue.message };
  });
  throw validationError(faults);
}
