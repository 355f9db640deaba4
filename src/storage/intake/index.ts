/**
 * Accepts messages by group commit: one transaction for many messages. README.md says what it promises and how it
 * works.
 */
import { PgIntake } from './intake.ts';

export { PgIntake };
