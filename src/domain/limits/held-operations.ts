import { namedAccountId } from '../accounts/account-operations.ts';
import { recordChange } from '../audit/record-change.ts';
import { ACCOUNT_ROLES } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { notFound } from '../errors.ts';
import { SUBMIT_DEADLINE_MS } from '../messages/message.ts';
import { fromMinor } from '../money/money.ts';
import { operation } from '../operation.ts';
import type { HeldMessage } from '../ports/held-store.ts';
import type { NewJob } from '../ports/job-queue.ts';
import type { Tx } from '../ports/stores.ts';
import { failHeld, lockHeld } from './end-held.ts';
import { REVIEW_MS, type ReviewDecision } from './held.ts';

/** Number of messages that one review decides about. The answer says how many are left. */
const MESSAGES_A_REVIEW = 1_000;
/** A released block is not held again for this long, in ms. */
const TRUST_MS = 24 * 3_600_000;

interface OfAccount {
  /** Default: the caller's own account. */
  readonly accountId?: string | null | undefined;
}

/** The held messages to a block of numbers, as both APIs show them. */
export interface ShownHeldBlock {
  readonly block: string;
  readonly messages: number;
  readonly recipients: number;
  /** What they cost if they are released. */
  readonly cost: number;
  readonly currency: string;
  readonly heldSince: Date;
  /** When the oldest of them fails if nobody decides. */
  readonly expiresAt: Date;
}

export interface HeldReview {
  readonly block: string;
  readonly decision: ReviewDecision;
  readonly messages: number;
  readonly recipients: number;
  /** What was charged. */
  readonly cost: number;
  readonly currency: string;
  /** Number of messages of the block that are held still. Ask again to decide about them. */
  readonly left: number;
}

/** Operations on messages that are held for review (R394, R398). */
export function heldOperations(deps: Dependencies) {
  const { stores, uow, clock } = deps;

  async function currencyOf(accountId: string): Promise<string> {
    const account = await stores.accounts.find(accountId);
    if (!account) throw notFound('Account');
    return account.currency;
  }

  async function release(tx: Tx, accountId: string, held: readonly HeldMessage[], now: Date): Promise<void> {
    const ids = held.map(({ messageId }) => messageId);
    const messages = await tx.messages.lock(ids);
    const startOf = ({ messageId }: HeldMessage) => {
      const scheduledFor = messages.get(messageId)?.scheduledFor;
      return scheduledFor && scheduledFor > now ? scheduledFor : null;
    };
    // The time of the review takes nothing from the 24 hours in which a carrier may accept it.
    const deadlines = held.map((one) => new Date((startOf(one) ?? now).getTime() + SUBMIT_DEADLINE_MS));
    await tx.held.charge(accountId, held, deadlines, now);
    await tx.held.decide(ids, 'released', now);
    await tx.jobs.enqueue(releasedJobs(held, startOf));
    tx.announceLive('message', [...messages.values()]);
  }

  return {
    /** Lists the blocks of numbers with held messages. Held messages are of production, so a sandbox key finds none. */
    list: operation(
      'held.list',
      { scopes: ['READ_MESSAGES'], roles: ACCOUNT_ROLES, operator: 'reading' },
      async (caller, input: OfAccount): Promise<readonly ShownHeldBlock[]> => {
        const accountId = namedAccountId(caller, input.accountId);
        if (caller.kind === 'api-key' && caller.environment === 'sandbox') return [];
        const currency = await currencyOf(accountId);
        return (await stores.held.blocks([accountId])).map(
          ({ block, messages, recipients, costMinor, heldSince }) => ({
            block,
            messages,
            recipients,
            cost: fromMinor(costMinor, currency),
            currency,
            heldSince,
            expiresAt: new Date(heldSince.getTime() + REVIEW_MS),
          }),
        );
      },
    ),

    /**
     * Releases or rejects the held messages of a block (R394). No key may: a stolen key must not release its own
     * messages. Throws `not_found` if none is held, and `insufficient_balance` if the balance does not cover them.
     */
    review: operation(
      'held.review',
      { roles: ['OWNER', 'ADMIN'], operator: true, stepUp: true },
      async (
        caller,
        input: OfAccount & { readonly block: string; readonly decision: ReviewDecision },
      ): Promise<HeldReview> => {
        const accountId = namedAccountId(caller, input.accountId);
        const { block, decision } = input;
        const currency = await currencyOf(accountId);
        return uow.run(async (tx) => {
          const now = clock.now();
          const open = await tx.held.open(accountId, block, MESSAGES_A_REVIEW);
          const held = await lockHeld(tx, open);
          if (held.length === 0) throw notFound('Held message');
          // What failed otherwise meanwhile, as after a restore, must not be in the list again.
          const waiting = new Set(held.map(({ messageId }) => messageId));
          await tx.held.decide(
            open.filter((id) => !waiting.has(id)),
            'canceled',
            now,
          );
          if (decision === 'reject') await failHeld(tx, deps.ids, held, 'rejected', now);
          else {
            await tx.held.trust(accountId, block, new Date(now.getTime() + TRUST_MS));
            await release(tx, accountId, held, now);
          }
          const left = (await tx.held.blocks([accountId])).find((each) => each.block === block);
          const costMinor = held.reduce((sum, one) => sum + one.costMinor, 0);
          const review = {
            block,
            decision,
            messages: held.length,
            recipients: held.reduce((sum, { costs }) => sum + costs.length, 0),
            cost: decision === 'release' ? fromMinor(costMinor, currency) : 0,
            currency,
            left: left?.messages ?? 0,
          };
          await recordChange(tx, deps, caller, {
            accountId,
            action: 'held.review',
            target: block,
            after: review,
          });
          return review;
        });
      },
    ),
  };
}

/** Returns one job for each route and start time, as intake makes them for messages that are not held. */
function releasedJobs(
  held: readonly HeldMessage[],
  startOf: (one: HeldMessage) => Date | null,
): readonly NewJob<'submit'>[] {
  const parts = held.flatMap((one) =>
    [...new Set(one.routes)].map((routeKey) => ({ one, routeKey, startAfter: startOf(one) })),
  );
  const jobs = Map.groupBy(parts, ({ routeKey, startAfter }) => `${routeKey} ${startAfter?.getTime() ?? ''}`);
  return [...jobs.values()].flatMap((own): NewJob<'submit'>[] => {
    const [first] = own;
    if (!first) return [];
    const positions = own.flatMap(({ one, routeKey }) => {
      if (new Set(one.routes).size === 1) return [];
      return [[one.messageId, one.routes.flatMap((route, at) => (route === routeKey ? [at] : []))] as const];
    });
    return [
      {
        queue: 'submit',
        routeKey: first.routeKey,
        data: {
          messageIds: own.map(({ one }) => one.messageId),
          positions: Object.fromEntries(positions),
          attempt: 0,
        },
        ...(first.startAfter ? { startAfter: first.startAfter } : {}),
      },
    ];
  });
}
