/** The rate limiter that all processes share. README.md says what it promises and how it works. */
import { PgRateLimiter } from './rate-limiter.ts';

export { PgRateLimiter };
