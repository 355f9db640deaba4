import { recordChange } from '../audit/record-change.ts';
import { ACCOUNT_ROLES } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { validationError } from '../errors.ts';
import { parseIsoTime } from '../iso-time.ts';
import type { Channel } from '../messages/message.ts';
import { transitionRecipients } from '../messages/transition-recipients.ts';
import { operation } from '../operation.ts';
import { ALL_IDS } from '../ports/changes.ts';
import type { PendingRecipient } from '../ports/copy-store.ts';
import type { RecipientKey, RecipientMove } from '../ports/message-stores.ts';
import { FIRST_UUID } from '../uuid.ts';
import type { Hold } from './hold.ts';

/** Number of recipients that one query reads, and number of recipients that one transaction marks. */
const LOOK_BATCH = 5_000;
const MARK_BATCH = 500;
const UNKNOWN = {
  code: 'outcome_unknown',
  message: 'The gateway was restored from a backup: whether this had left before is not known.',
};

/**
 * What to do with recipients of unknown outcome. `send` submits them, perhaps for a second time. `mark` lets them fail
 * with `outcome_unknown`, and refunds them after 72 hours.
 */
export type Decision = 'send' | 'mark';

/** Numbers of pending recipients in a held copy. */
export interface Unknown {
  /** Recipients whose outcome is unknown: their send time is after `since`, so the original may have submitted them. */
  readonly recipients: number;
  readonly messages: number;
  readonly byChannel: Readonly<Partial<Record<Channel, number>>>;
  /** Recipients with a send time before `since`. The original had not submitted them, so they are sent. */
  readonly older: number;
  /** Recipients that are not due yet. So no copy has submitted them, and this copy sends them when they are due. */
  readonly scheduled: number;
}

export interface Release {
  /** The hold before the call. Null if there was none. */
  readonly hold: Hold | null;
  readonly unknown: Unknown;
  /** Number of recipients that were marked. */
  readonly marked: number;
  /** True if the copy may send now. */
  readonly isReleased: boolean;
}

/** Operations that release a held copy and decide about recipients of unknown outcome. */
export function recoveryOperations(deps: Dependencies) {
  const { stores, uow, clock, holdGate } = deps;

  async function* pendingRecipients(): AsyncGenerator<readonly PendingRecipient[]> {
    let after: RecipientKey | undefined = { messageId: FIRST_UUID, position: -1 };
    while (after !== undefined) {
      const found: Awaited<ReturnType<typeof stores.copy.pendingAfter>> = await stores.copy.pendingAfter(
        after,
        LOOK_BATCH,
      );
      yield found.pending;
      after = found.next;
    }
  }

  async function count(since: Date, now: Date): Promise<Unknown> {
    const byChannel: Partial<Record<Channel, number>> = {};
    const messages = new Set<string>();
    let [recipients, older, scheduled] = [0, 0, 0];
    for await (const batch of pendingRecipients()) {
      for (const { channel, dueAt, messageId } of batch) {
        if (dueAt > now) scheduled += 1;
        else if (dueAt < since) older += 1;
        else {
          recipients += 1;
          messages.add(messageId);
          byChannel[channel] = (byChannel[channel] ?? 0) + 1;
        }
      }
    }
    return { recipients, messages: messages.size, byChannel, older, scheduled };
  }

  /**
   * Marks the recipients of unknown outcome, at most `MARK_BATCH` in one transaction. Returns the number of marked
   * recipients.
   */
  async function mark(since: Date, now: Date): Promise<number> {
    let marked = 0;
    for await (const batch of pendingRecipients()) {
      const unknown = batch.filter(({ dueAt }) => dueAt >= since && dueAt <= now);
      for (let start = 0; start < unknown.length; start += MARK_BATCH) {
        const part = unknown.slice(start, start + MARK_BATCH);
        const messageIds = [...new Set(part.map(({ messageId }) => messageId))];
        const { done } = await uow.run((tx) =>
          transitionRecipients(
            tx,
            deps.ids,
            messageIds,
            part.map((each) => failure(each, now)),
            now,
          ),
        );
        marked += done.size;
      }
    }
    return marked;
  }

  return {
    /** Returns the hold of this copy. Null if it is not held. */
    hold: operation(
      'recovery.hold',
      { roles: ACCOUNT_ROLES, operator: 'reading' },
      async (_caller, _input: Record<string, never>): Promise<Hold | null> => holdGate.hold ?? null,
    ),

    /**
     * Counts the recipients of unknown outcome in a held copy, applies `decision` to them, and ends the hold (R232).
     * Without a decision, the hold ends only if there are no such recipients. `since` is in ISO 8601. Without it, the
     * outcome of all due recipients is unknown.
     */
    release: operation(
      'recovery.release',
      {},
      async (
        caller,
        input: { readonly since?: string | undefined; readonly decision?: Decision | undefined },
      ): Promise<Release> => {
        const since = input.since === undefined ? new Date(0) : parseIsoTime(input.since);
        if (!since)
          throw validationError([{ path: 'since', message: 'must be an ISO 8601 time with Z or an offset' }]);
        const now = clock.now();
        const hold = (await stores.copy.read()).hold ?? null;
        const unknown = await count(since, now);
        if (hold === null) return { hold, unknown, marked: 0, isReleased: true };
        if (input.decision === undefined && unknown.recipients > 0)
          return { hold, unknown, marked: 0, isReleased: false };
        const marked = input.decision === 'mark' ? await mark(since, now) : 0;
        await uow.run(async (tx) => {
          const { found } = await tx.copy.lock();
          await tx.copy.settle(found);
          await recordChange(tx, deps, caller, {
            accountId: null,
            action: 'recovery.release',
            target: 'gateway',
            before: { reason: hold.reason, since: hold.at.toISOString() },
            after: { decision: input.decision ?? null, unknown: unknown.recipients, marked },
          });
          tx.announce('hold', ALL_IDS);
        });
        return { hold, unknown, marked, isReleased: true };
      },
    ),
  };
}

/** Builds the failure of a recipient. The message may have been sent, so its refund is deferred (R218). */
function failure({ messageId, position }: PendingRecipient, at: Date): RecipientMove {
  const move = { messageId, position, from: 'pending', to: 'failed', at, provider: null, sids: [] } as const;
  return { ...move, error: UNKNOWN, possiblySent: true };
}
