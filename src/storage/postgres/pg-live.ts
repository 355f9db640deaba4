import {
  LIVE_KINDS,
  type LiveChange,
  type LiveFeed,
  type LiveKind,
  type LiveObject,
} from '../../domain/ports/changes.ts';
import type { PgListener } from './pg-listener.ts';
import type { Sql } from './sql.ts';

const CHANNEL = 'gateway_live';
/**
 * Number of ids in one notification. An id has 36 characters. The payload must be below 8,000 bytes and also has a kind
 * and an account id.
 */
const IDS_PER_NOTICE = 200;
/** If more objects of an account changed than this, the ids are left out. A subscriber would not keep more of them. */
const IDS_PER_ACCOUNT = 1_000;
const MANY = '*';

/** Announces changed objects to the console's live updates when the transaction of `sql` commits. */
export function announceLive(sql: Sql, kind: LiveKind, objects: readonly LiveObject[]): void {
  for (const [accountId, own] of Map.groupBy(objects, (object) => object.accountId)) {
    const isNamed = own.length <= IDS_PER_ACCOUNT && own.every((object) => object.id !== undefined);
    const ids = isNamed ? own.map((object) => object.id) : [MANY];
    for (let start = 0; start < ids.length; start += IDS_PER_NOTICE) {
      sql.notify(CHANNEL, `${kind} ${accountId} ${ids.slice(start, start + IDS_PER_NOTICE).join()}`);
    }
  }
}

/** Announcements of changed objects by all processes, received through NOTIFY. */
export class PgLiveFeed implements LiveFeed {
  readonly #listener: PgListener;

  constructor(listener: PgListener) {
    this.#listener = listener;
  }

  listen(onChange: (change: LiveChange) => void, onGap: () => void): Promise<() => Promise<void>> {
    const onMessage = (payload: string) => {
      const [name, accountId, ids] = payload.split(' ');
      const kind = LIVE_KINDS.find((known) => known === name);
      if (!kind || accountId === undefined || ids === undefined) return;
      onChange({ kind, accountId, ids: ids === MANY ? undefined : ids.split(',') });
    };
    return this.#listener.listen(CHANNEL, onMessage, onGap);
  }
}
