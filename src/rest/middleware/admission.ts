import type { Request } from 'express';
import { bucketOfClient, type DefaultLimits, rateRefusal } from '../../domain/accounts/budgets.ts';
import type { ApiKey } from '../../domain/api-keys/api-key.ts';
import {
  type AuthenticatedKey,
  type Authenticator,
  callerOf,
  KeyRefused,
} from '../../domain/api-keys/authenticate.ts';
import type { ApiKeyCaller } from '../../domain/caller.ts';
import { DomainError } from '../../domain/errors.ts';
import { clientOf, parseForwardedAddress, shownClient } from '../../domain/ip-network.ts';
import type { RateLimiter, RateLimits, RateVerdict } from '../../domain/ports/rate-limiter.ts';
import type { Clock } from '../../domain/ports/system.ts';
import type { SecurityWatch } from '../../domain/security/security-watch.ts';
import { headerOf } from './request.ts';
import type { AnswerHeaders } from './send-json.ts';

/** What `Admission` needs to know about the route. */
export interface RouteAccess {
  /** Reads the body, up to the route's size limit. Throws `payload_too_large`. */
  readonly readBody: () => Promise<Buffer>;
  readonly isWebhookRegistration: boolean;
}

/** The facts about a request that are found while it is handled. */
export interface Seen {
  /** The headers of the answer. */
  readonly headers: AnswerHeaders;
  /** The key, once the request has shown its secret. */
  key: ApiKey | undefined;
}

interface Admitted {
  readonly caller: ApiKeyCaller;
  /** The raw body, if checking the signature needed it. */
  readonly rawBody: Buffer | undefined;
}

/**
 * Checks each request in the order of R9: key, revocation and expiry, signature, IP allowlist, rate limit. Sets the
 * rate limit headers of the budget that the request counts against.
 */
export class Admission {
  readonly #authenticator: Authenticator;
  readonly #rateLimiter: RateLimiter;
  readonly #defaults: DefaultLimits;
  readonly #security: SecurityWatch;
  readonly #clock: Clock;

  constructor(parts: {
    authenticator: Authenticator;
    rateLimiter: RateLimiter;
    rateLimits: DefaultLimits;
    security: SecurityWatch;
    clock: Clock;
  }) {
    this.#authenticator = parts.authenticator;
    this.#rateLimiter = parts.rateLimiter;
    this.#defaults = parts.rateLimits;
    this.#security = parts.security;
    this.#clock = parts.clock;
  }

  /**
   * Authenticates the request and counts it. Sets `seen.key` also if the request is refused later. Throws
   * `unauthorized`, `forbidden` or `rate_limit_exceeded`, and `payload_too_large` if a signed body is too large.
   */
  async admit(request: Request, seen: Seen, route: RouteAccess): Promise<Admitted> {
    const { headers } = seen;
    let authenticated: AuthenticatedKey;
    let rawBody: Buffer | undefined;
    try {
      authenticated = await this.#authenticator.authenticate(headerOf(request, 'x-api-key'));
      seen.key = authenticated.key;
      if (authenticated.key.enableHmac) {
        rawBody = await this.#authenticator.checkSignature(authenticated, {
          method: request.method,
          path: pathOf(request.originalUrl),
          timestamp: headerOf(request, 'x-timestamp'),
          signature: headerOf(request, 'x-signature'),
          readBody: route.readBody,
        });
      }
      this.#authenticator.checkAddress(authenticated, () => clientAddressOf(request));
    } catch (error) {
      if (error instanceof KeyRefused) {
        this.#note(error, request);
        if (error.hasEnded) seen.key = error.credentials?.key;
      }
      // Count the request against its IP address. A client without the key's secrets must not use up the key's budget.
      if (error instanceof DomainError) await this.countByAddress(request, headers);
      throw error;
    }
    const { key, plan } = authenticated;
    this.#authenticator.noteUse(authenticated);
    const registrations = route.isWebhookRegistration ? `webhooks:${key.keyId}` : undefined;
    if (registrations !== undefined) {
      const perMinute = plan?.webhooksPerMinute ?? this.#defaults.webhooksPerMinute;
      const limits = { perMinute, perSecond: 0 };
      const verdict = await this.#rateLimiter.take(registrations, limits);
      applyVerdict(headers, verdict, limits, 'webhook registrations');
    }
    const limits = {
      perMinute: key.rateLimit.perMinute ?? plan?.perMinute ?? this.#defaults.perMinute,
      perSecond: key.rateLimit.perSecond ?? plan?.perSecond ?? this.#defaults.perSecond,
    };
    try {
      const verdict = await this.#rateLimiter.take(`key:${key.keyId}`, limits);
      applyVerdict(headers, verdict, limits, 'requests');
    } catch (error) {
      // The request budget refused the request. So it must not count against the budget for webhook registrations.
      if (registrations !== undefined) await this.#rateLimiter.giveBack(registrations);
      throw error;
    }
    return { caller: callerOf(authenticated), rawBody };
  }

  #note({ check: kind, reason, credentials }: KeyRefused, request: Request): void {
    const keyId = credentials?.key.keyId;
    const caller = kind === 'allowlist' && credentials ? callerOf(credentials) : undefined;
    const audited = caller && {
      accountId: caller.accountId,
      caller,
      action: 'apiKey.outsideAllowlist' as const,
      target: caller.keyId,
    };
    this.#security.recordRefusal({
      kind,
      reason,
      address: shownClient(clientOf(request.ip)),
      keyId,
      audited,
    });
  }

  /** Counts a request without a valid key against the budget of its IP address (R11). */
  async countByAddress(request: Request, headers: AnswerHeaders): Promise<void> {
    const verdict = await this.#rateLimiter.take(bucketOfClient(clientOf(request.ip)), this.#defaults);
    applyVerdict(headers, verdict, this.#defaults, 'requests');
  }

  /**
   * Rate limit headers for a request that was not counted. They report 0 remaining requests, because the real number is
   * unknown. The reset time uses the database's clock (R222).
   */
  uncountedHeaders(retryAfterSeconds = 0): Record<string, string> {
    return rateHeaders(
      this.#defaults.perMinute,
      0,
      Math.floor(this.#clock.now().getTime() / 1000) + retryAfterSeconds,
    );
  }
}

/** Sets the rate limit headers. Throws `rate_limit_exceeded` if `verdict` is a refusal. */
function applyVerdict(headers: AnswerHeaders, verdict: RateVerdict, limits: RateLimits, what: string): void {
  Object.assign(headers, rateHeaders(verdict.limit, verdict.remaining, verdict.resetAt));
  const refused = rateRefusal(verdict, limits, what);
  if (refused) throw refused;
}

function rateHeaders(limit: number, remaining: number, resetAt: number): Record<string, string> {
  return {
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': String(resetAt),
  };
}

/**
 * Returns the client's IP address. This is the address of the socket's peer, or the address that a trusted proxy names
 * (TRUST_PROXY, through Express's `trust proxy`).
 */
function clientAddressOf(request: Request): bigint | undefined {
  return request.ip === undefined ? undefined : parseForwardedAddress(request.ip);
}

/** Returns the path of a request's target. The target may be a whole URL, from which scheme and host are removed. */
function pathOf(target: string): string {
  return target.replace(/^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#]*/, '');
}
