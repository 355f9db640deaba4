/** Accepting messages by group commit. README.md says what it promises and how it works. */
import { PgIntake } from './intake.ts';

export { PgIntake };
