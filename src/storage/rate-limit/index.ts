/** The limits that all processes share: of requests and of points. README.md explains them. */
import { PgPointBudget } from './point-budget.ts';
import { PgRateLimiter } from './rate-limiter.ts';

export { PgPointBudget, PgRateLimiter };
