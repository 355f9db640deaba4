import type { AccountCaller } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Cache } from '../ports/changes.ts';
import { applying, type SharedLimitRow } from './send-limits.ts';

/** Number of keys that are remembered. Above it, all are forgotten, and their limits are read once more. */
const MAX_KEYS = 20_000;

interface KnownLimits {
  readonly rows: readonly SharedLimitRow[];
  /** The keys that had sent before the rows were read. So the rows that these keys share are among them. */
  readonly keys: ReadonlySet<string>;
}

/**
 * The limits that apply to senders (R370). They are cached until a change is announced. A key works in every process as
 * soon as it exists, which may be before the announcement that it shares limits is heard. So the limits of an account
 * are read again when a key sends for the first time (R560).
 */
export class LimitsOfKeys {
  readonly #limits: Cache<KnownLimits>;
  readonly #keys = new Map<string, Set<string>>();
  #size = 0;

  constructor({ stores, createCache }: Pick<Dependencies, 'stores' | 'createCache'>) {
    this.#limits = createCache('account', async (accountId) => {
      const keys = new Set(this.#keys.get(accountId));
      return { rows: await stores.sendLimits.ofAccount(accountId), keys };
    });
  }

  /** Returns the rows of send limits that apply to a sender. */
  async of(sender: AccountCaller): Promise<readonly SharedLimitRow[]> {
    const { accountId } = sender;
    const known = await this.#limits.get(accountId);
    if (known.rows.length === 0) return [];
    if (sender.kind !== 'api-key') return applying(known.rows, null);
    const { keyId } = sender;
    if (known.keys.has(keyId)) return applying(known.rows, keyId);
    this.#remember(accountId, keyId);
    return applying((await this.#limits.renew(accountId)).rows, keyId);
  }

  #remember(accountId: string, keyId: string): void {
    if (this.#size >= MAX_KEYS) {
      this.#keys.clear();
      this.#size = 0;
    }
    const keys = this.#keys.get(accountId) ?? new Set();
    if (!keys.has(keyId)) this.#size += 1;
    this.#keys.set(accountId, keys.add(keyId));
  }
}
