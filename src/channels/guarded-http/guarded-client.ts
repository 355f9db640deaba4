/**
 * The HTTP client for every URL that customers choose: webhooks, Web Push endpoints, media. It protects the operator's
 * network.
 *
 * Each request goes through these steps (R32, R160–R162):
 * - The URL is parsed strictly (target-url).
 * - Its host name is resolved, and every IP address is judged (name-resolver, address-guard).
 * - The client connects to one judged address. It judges the socket's remote address again (guarded-connector).
 * - A kept-alive socket is reused only while its address is among those just resolved (origin-pools).
 *
 * The client follows no redirects, uses no proxy and decompresses nothing. One deadline covers everything.
 */
import { LRUCache } from 'lru-cache';
import type { Dispatcher } from 'undici';
import { createAddressGuard } from './address-guard.ts';
import { ConnectionLimits } from './connection-limits.ts';
import { type Dial, refusalOf, type TlsTrust } from './guarded-connector.ts';
import {
  customerMessage,
  exchangeFailure,
  GuardedHttpError,
  type HttpErrorCode,
  lookupFailure,
  lookupTimedOut,
  timedOut,
} from './http-errors.ts';
import { createPacedLookup, createSystemResolver, type Resolve } from './name-resolver.ts';
import { portFault } from './open-ports.ts';
import { OriginPools } from './origin-pools.ts';
import { dispatchOnce, type ResponseHeaders, storableText } from './response-reader.ts';
import { parseTarget, type Target } from './target-url.ts';

export interface GuardedClientOptions {
  /** Networks (CIDR) to which targets may resolve although they are not public (WEBHOOK_ALLOWED_NETWORKS). */
  readonly allowedNetworks: readonly string[];
  readonly requireHttps: boolean;
  /** Largest number of concurrent requests of one account to one origin. Further requests wait until their deadline. */
  readonly maxConnectionsPerAccount: number;
  readonly userAgent?: string;
  /** Called with failures whose details customers must not see, so that the operator's log can have them. */
  readonly onConcealed?: (failure: ConcealedFailure) => void;
  /** Replaces the name resolution in tests. */
  readonly resolve?: Resolve;
  /** Further trusted certificates, for tests. */
  readonly tls?: TlsTrust;
  /** Replaces the TCP connect in tests. */
  readonly dial?: Dial;
}

interface HttpRequest {
  /** The account of the customer who chose the URL. */
  readonly accountId: string;
  readonly url: string;
  readonly method: Dispatcher.HttpMethod;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | null;
  /** Time limit in ms for the whole exchange: name lookup, connection, TLS and answer. */
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
}

/** The details of a failure that customers do not see. */
export interface ConcealedFailure {
  readonly host: string;
  readonly code: HttpErrorCode;
  readonly particulars: string;
}

/** A failure for customers: `code` for programs, `message` for people. */
interface HttpFailure {
  readonly code: HttpErrorCode;
  readonly message: string;
}

export type HttpExchange =
  /**
   * The outcome if a status line arrived. `incomplete` says why the body ended early. It is null if the body is
   * complete or was cut at the limit.
   */
  | {
      readonly kind: 'response';
      readonly status: number;
      readonly headers: ResponseHeaders;
      readonly body: string;
      readonly incomplete: HttpFailure | null;
      readonly durationMs: number;
    }
  | ({ readonly kind: 'error'; readonly durationMs: number } & HttpFailure);

export interface GuardedClient {
  /**
   * Judges a URL before it is stored. Resolves with its canonical form. Rejects with a `GuardedHttpError`, whose
   * message customers may read. The reasons: the URL itself is not allowed, its name does not resolve, or one of its
   * addresses is not public. The last two have the same message.
   */
  checkUrl(url: unknown): Promise<string>;
  /** Makes one request and ends within `timeoutMs`. Never rejects. A socket is kept only if it can be used again. */
  request(request: HttpRequest): Promise<HttpExchange>;
  /** Aborts requests in flight with `client_closed` and closes all sockets. Later requests fail in the same way. */
  close(): Promise<void>;
}

const CHECK_TIMEOUT_MS = 5_000;
/**
 * At most this many IP addresses of a name are tried. All are judged, but many addresses must not prolong the attempt.
 */
const MAX_DIALLED = 4;
/** How long, in ms, one address may delay the attempt at the next one. */
const MAX_CONNECT_MS_BEFORE_NEXT = 2_000;

/**
 * The operator gets the same failure only once in this time, in ms. The client remembers at most `MAX_CONCEALED`
 * failures for that.
 */
const CONCEALED_EVERY_MS = 60_000;
const MAX_CONCEALED = 1_000;

/** Number of parsed URLs in the cache. Their host names are still resolved and judged for each request. */
const MAX_TARGETS = 1_000;

/** Creates the client. Throws if `allowedNetworks` has an invalid entry. */
export function createGuardedClient(options: GuardedClientOptions): GuardedClient {
  const { allowedNetworks, requireHttps, maxConnectionsPerAccount, tls, dial } = options;
  const guard = createAddressGuard(allowedNetworks);
  const lookup = createPacedLookup(
    options.resolve ?? createSystemResolver({ privateNames: allowedNetworks.length > 0 }),
  );
  const pools = new OriginPools({ guard, tls, dial });
  const limits = new ConnectionLimits(maxConnectionsPerAccount);
  const targets = new LRUCache<string, Target>({ max: MAX_TARGETS });
  const told = new LRUCache<string, true>({ max: MAX_CONCEALED, ttl: CONCEALED_EVERY_MS });
  let closed = false;

  const targetOf = (url: string): Target => {
    const target = targets.get(url) ?? parseTarget(url, requireHttps);
    targets.set(url, target);
    return target;
  };

  /**
   * Returns the message for customers. Reports the hidden details to the operator at most once a minute for each host
   * and code.
   */
  const shown = (
    failure: GuardedHttpError,
    host: string,
    addresses: readonly string[],
    timedOutAfterMs?: number,
  ): string => {
    const isInside = addresses.some((address) => !guard.isPublic(address));
    const words = customerMessage(failure, isInside, timedOutAfterMs);
    const { code, message: particulars } = failure;
    if (words !== particulars && !told.has(`${code} ${host}`)) {
      told.set(`${code} ${host}`, true);
      options.onConcealed?.({ host, code, particulars });
    }
    return words;
  };

  const judge = (target: Target, addresses: readonly string[]): readonly string[] => {
    // One forbidden address is enough to refuse the whole name. The client could connect to any of the addresses. A
    // name with allowed and forbidden addresses is an attack.
    for (const address of addresses) {
      const refusal = refusalOf(guard, address, target.port, target.host);
      if (refusal) throw refusal;
    }
    return addresses;
  };

  const checkedAddresses = async (target: Target, timeoutMs: number): Promise<readonly string[]> => {
    if (target.isLiteral) return judge(target, [target.host]);
    // Without allowed networks, the port alone decides. So a forbidden port is refused without a name lookup.
    const fault = allowedNetworks.length === 0 ? portFault(target.port) : undefined;
    if (fault !== undefined) throw new GuardedHttpError('invalid_url', fault);
    const addresses = await withTimeout(lookup(target.host), timeoutMs, target.host);
    if (addresses.length === 0) throw lookupFailure(target.host, { code: 'ENODATA' });
    return judge(target, addresses);
  };

  const send = async (
    target: Target,
    addresses: readonly string[],
    request: HttpRequest,
    deadline: number,
  ) => {
    const { method, body, timeoutMs, maxResponseBytes } = request;
    const headers = { ...(options.userAgent && { 'user-agent': options.userAgent }), ...request.headers };
    const candidates = pools.order(target.origin, interleaved(addresses)).slice(0, MAX_DIALLED);
    for (const [index, address] of candidates.entries()) {
      const left = candidates.length - index;
      const share = Math.min(MAX_CONNECT_MS_BEFORE_NEXT, (deadline - performance.now()) / left);
      const connectBy = left === 1 ? deadline : performance.now() + share;
      if (closed) throw shuttingDown();
      const lease = pools.lease(target, address, connectBy, deadline);
      try {
        return await dispatchOnce(lease.pool, {
          path: target.path,
          method,
          headers,
          body,
          maxResponseBytes,
          deadline,
          timeoutMs,
        });
      } catch (error) {
        const failure = exchangeFailure(error, false);
        const expired = isOver(deadline);
        if (expired && failure.code === 'timeout') throw timedOut(timeoutMs, waitedFor(failure, address));
        if (left === 1 || expired || !failure.beforeSending) throw failure;
      } finally {
        lease.release();
      }
    }
    throw new GuardedHttpError('unexpected', 'no address was tried');
  };

  const admitted = async (
    target: Target,
    addresses: readonly string[],
    wanted: HttpRequest,
    deadline: number,
  ) => {
    const late = () => timedOut(wanted.timeoutMs, 'waiting for earlier requests to the same host');
    if (!(await limits.acquire(target.origin, wanted.accountId, deadline))) throw late();
    try {
      if (performance.now() >= deadline) throw late();
      return await send(target, addresses, wanted, deadline);
    } finally {
      limits.release(target.origin, wanted.accountId);
    }
  };

  const request = async (wanted: HttpRequest): Promise<HttpExchange> => {
    const startedAt = performance.now();
    const deadline = startedAt + wanted.timeoutMs;
    const durationMs = () => Math.round(performance.now() - startedAt);
    let host = '';
    let addresses: readonly string[] = [];
    try {
      if (closed) throw shuttingDown();
      const target = targetOf(wanted.url);
      host = target.host;
      addresses = await checkedAddresses(target, wanted.timeoutMs);
      const response = await admitted(target, addresses, wanted, deadline);
      const { status, headers, incomplete } = response;
      return {
        kind: 'response',
        status,
        headers,
        body: storableText(response, wanted.maxResponseBytes),
        incomplete: incomplete && { code: incomplete.code, message: incomplete.message },
        durationMs: durationMs(),
      };
    } catch (error) {
      const failure = exchangeFailure(error, false);
      const hadAllTime = failure.code === 'timeout' && isOver(deadline);
      const message = shown(failure, host, addresses, hadAllTime ? wanted.timeoutMs : undefined);
      return { kind: 'error', code: failure.code, message, durationMs: durationMs() };
    }
  };

  const checkUrl = async (url: unknown): Promise<string> => {
    const target = parseTarget(url, requireHttps);
    try {
      await checkedAddresses(target, CHECK_TIMEOUT_MS);
    } catch (error) {
      const failure = exchangeFailure(error, false);
      throw new GuardedHttpError(failure.code, shown(failure, target.host, []));
    }
    return target.href;
  };

  const close = async (): Promise<void> => {
    closed = true;
    await pools.close();
  };
  return { checkUrl, request, close };
}

/** True if the deadline has passed, or passes within 2 ms, because Node's timers may fire a millisecond early. */
const isOver = (deadline: number): boolean => performance.now() >= deadline - 2;

const shuttingDown = () => new GuardedHttpError('client_closed', 'the gateway is shutting down');

const waitedFor = (failure: GuardedHttpError, address: string): string =>
  failure.beforeSending || failure.message.endsWith('a connection')
    ? `waiting for a connection to ${address}`
    : 'waiting for the answer';

async function withTimeout(
  lookup: Promise<readonly string[]>,
  timeoutMs: number,
  hostname: string,
): Promise<readonly string[]> {
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(lookupTimedOut(timeoutMs, hostname)), timeoutMs);
  });
  try {
    return await Promise.race([
      lookup.catch((error) => {
        throw lookupFailure(hostname, error);
      }),
      expired,
    ]);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns IPv4 and IPv6 addresses in turn, IPv4 first. If one family does not work, the other one is tried early. */
function interleaved(addresses: readonly string[]): readonly string[] {
  if (addresses.length === 1) return addresses;
  const v4 = addresses.filter((address) => !address.includes(':'));
  const v6 = addresses.filter((address) => address.includes(':'));
  return Array.from({ length: Math.max(v4.length, v6.length) }, (_, index) => [v4[index], v6[index]])
    .flat()
    .filter((address) => address !== undefined);
}
