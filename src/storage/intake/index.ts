/**
 * Accepts messages by group commit: one transaction for many messages. README.md says what it promises and how it
 * works.
 */
export { type IntakeOptions, PgIntake } from './intake.ts';
