import type { Environment } from '../../domain/caller.ts';
import {
  accountMoved,
  accountMoving,
  insufficientBalance,
  outcomeUnknown,
  serviceUnavailable,
} from '../../domain/errors.ts';
import { limitReached } from '../../domain/limits/send-limits.ts';
import { decideBatch } from '../../domain/messages/batch-decision.ts';
import type { IdempotencyClaim, PreparedMessage } from '../../domain/messages/message.ts';
import { fromMinor } from '../../domain/money/money.ts';
import type { Intake, SendAnswer } from '../../domain/ports/intake.ts';
import { Batcher, type TakeMore } from '../../runtime/batcher.ts';
import { TransientMap } from '../../runtime/transient-map.ts';
import { mayPassAlone } from '../postgres/faults.ts';
import { announceLive } from '../postgres/pg-live.ts';
import { isUndecided } from '../postgres/pipeline.ts';
import { type Sql, statement } from '../postgres/sql.ts';
import type { JobSinkFor } from '../postgres/unit-of-work.ts';
import { LATEST, setTimesBack } from './future-times.ts';
import { claimKey, claimOf, findAnswers, findReplays } from './idempotency.ts';
import {
  type Answers,
  type AnswersLater,
  type Decision,
  isRefused,
  type Moving,
  type NewAnswer,
  writeAccepted,
} from './intake-write.ts';
import { readLimits } from './limit-counts.ts';
import { SharedAccount } from './shared-account.ts';
import { submitJobs } from './submit-jobs.ts';

const LOCK = statement(
  'intake-lock',
  `SELECT id, balance_minor, coalesce(last_accepted_at > ${LATEST}, false) AS is_ahead, moving FROM accounts WHERE id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE`,
);

/** This many characters of an email's texts and attachments count as one recipient in the size of a batch. */
const CHARACTERS_A_RECIPIENT = 2_048;

export interface IntakeOptions {
  /**
   * Number of recipients that one transaction accepts. A message with more recipients gets a transaction of its own.
   */
  readonly maxBatchRecipients: number;
  /**
   * Number of recipients that may wait for a transaction. Further messages are refused with `service_unavailable`, and
   * nothing of them is stored.
   */
  readonly maxWaitingRecipients: number;
  /**
   * True to decide about each batch before writing it. Set it inside a larger transaction, because a refused write
   * would end that transaction.
   */
  readonly decidesFirst?: boolean;
}

/** A batch with more recipients than this is cut in half. One half is then answered while the other one commits. */
const HALVED_ABOVE = 32;
/**
 * After PostgreSQL refused a batch of an account, this many batches of the account are decided message by message. The
 * same holds after a batch that repeated an idempotency key. Both are likely to happen again soon.
 */
const CAREFUL_BATCHES = 8;
/**
 * Number of accounts whose batches are decided message by message. Above it, the memory of all these accounts is
 * cleared. That costs one wasted round trip for each batch that is refused later.
 */
const MAX_CAREFUL = 10_000;

/** Thrown if the last message of some accounts has a time in the future. Nothing was written. */
class TimesAhead extends Error {
  readonly accountIds: readonly string[];

  constructor(accountIds: readonly string[]) {
    super('the last message is dated in the future');
    this.accountIds = accountIds;
  }
}

/**
 * Accepts messages in PostgreSQL by group commit. One transaction runs at a time. The next one takes all messages that
 * arrived meanwhile.
 */
export class PgIntake implements Intake {
  readonly #sql: Sql;
  readonly #jobsFor: JobSinkFor;
  readonly #options: IntakeOptions;
  readonly #batches: Batcher<PreparedMessage, Decision>;
  /**
   * Requests in progress, by idempotency key. A request with the same key waits for the first one and returns its
   * answer.
   */
  readonly #claims = new TransientMap<string, Promise<Decision>>();
  /** Accounts whose batches are decided message by message, with the number of such batches left. */
  readonly #careful = new Map<string, number>();
  readonly #shared = new SharedAccount();

  constructor(sql: Sql, jobsFor: JobSinkFor, options: IntakeOptions) {
    this.#sql = sql;
    this.#jobsFor = jobsFor;
    this.#options = options;
    this.#batches = new Batcher((batch, takeMore) => this.#commit(batch, takeMore), {
      weight: weightOf,
      maxWeight: options.maxBatchRecipients,
      halvedAbove: HALVED_ABOVE,
      isolate: mayPassAlone,
    });
  }

  async accept(prepared: PreparedMessage): Promise<SendAnswer> {
    const waiting = this.#batches.waitingWeight;
    if (waiting > 0 && waiting + weightOf(prepared) > this.#options.maxWaitingRecipients) {
      throw serviceUnavailable('More messages are waiting than can be stored. Try again.');
    }
    const claim = claimOf(prepared);
    let decision: Decision;
    try {
      decision = await (claim ? this.#acceptOnce(prepared, claimKey(claim)) : this.#batches.add(prepared));
    } catch (error) {
      if (isUndecided(error)) throw outcomeUnknown({ messageId: prepared.id }, error);
      throw error;
    }
    if (isAnswer(decision)) return decision;
    if ('moving' in decision) throw decision.moving === 'moved' ? accountMoved() : accountMoving();
    const { costMinor, currency } = prepared;
    if ('breach' in decision) throw limitReached(decision.breach, currency);
    const balance = fromMinor(decision.balanceMinor, currency);
    throw insufficientBalance(balance, fromMinor(costMinor, currency), currency);
  }

  /**
   * Accepts a message with an idempotency key. If another request with the key is in progress, waits for it and returns
   * its answer.
   */
  async #acceptOnce(prepared: PreparedMessage, key: string): Promise<Decision> {
    // `twin` is a request in progress with the same key. If it fails, look again, because another waiting request may
    // have started since.
    for (let twin = this.#claims.get(key); twin; twin = this.#claims.get(key)) {
      const answer = await twin.catch(() => undefined);
      if (answer && isAnswer(answer))
        return { messageId: answer.messageId, body: answer.body, isReplay: true };
    }
    const answer = this.#batches.add(prepared);
    this.#claims.set(key, answer);
    try {
      return await answer;
    } finally {
      this.#claims.delete(key);
    }
  }

  async replay(
    accountId: string,
    environment: Environment,
    idempotency: IdempotencyClaim,
  ): Promise<SendAnswer | undefined> {
    const claim = { accountId, environment, idempotency };
    // If a request with the same key is in progress in this process, wait for it.
    await this.#claims.get(claimKey(claim))?.catch(() => undefined);
    const isThere = (await findAnswers(this.#sql, [claim])).size > 0;
    // Another process may have committed an answer that is not on the disk yet. Read again and wait for the disk, but
    // only if there is an answer: most keys have none.
    return isThere
      ? (await findAnswers(this.#sql, [claim], { isTold: true })).get(claimKey(claim))
      : undefined;
  }

  drain(): Promise<void> {
    return this.#batches.drain();
  }

  /**
   * Accepts a whole batch in one round trip. This is the usual case. If PostgreSQL refuses the batch, nothing is
   * written, and the batch is decided message by message.
   */
  async #commit(begun: readonly PreparedMessage[], takeMore: TakeMore<PreparedMessage>): Promise<Decision[]> {
    const batch = [...begun];
    const decided = (await this.#acceptWhole(batch, takeMore)) ?? (await this.#decide(batch));
    const answers = batch.map((prepared) => decided.get(prepared) as Decision);
    this.#shared.note(
      batch.flatMap(({ accountId, channel }, index) => {
        const answer = answers[index];
        return isNew(answer) ? [{ accountId, channel, seq: answer.seq }] : [];
      }),
    );
    return answers;
  }

  /**
   * Tries to accept the batch as a whole. Returns undefined if that failed. In both cases further messages may have
   * been added to `batch`.
   */
  async #acceptWhole(
    batch: PreparedMessage[],
    takeMore: TakeMore<PreparedMessage>,
  ): Promise<Answers | undefined> {
    const isCareful = batch.some(({ accountId }) => this.#careful.has(accountId));
    if (isCareful || this.#options.decidesFirst) return undefined;
    const [accountId, ...others] = accountsOf(batch);
    try {
      return await this.#transaction(async (sql) => {
        // The write itself locks a single account. Several accounts are locked first, in the order of their ids, to
        // avoid deadlocks.
        if (others.length > 0) sql.send(LOCK, [[accountId, ...others]]);
        else if (batch.length > 1 && this.#shared.is(accountId)) {
          // Another process also accepts messages of this account, so the lock is often taken. Add the messages that
          // arrive while this process waits for the lock.
          await sql.query(LOCK, [[accountId]]);
          batch.push(...takeMore((prepared) => prepared.accountId === accountId));
        }
        return this.#write(sql, batch);
      });
    } catch (error) {
      if (!isRefused(error)) throw error;
      return undefined;
    }
  }

  /** Calls `#decideLocked`. If the last message of an account has a time in the future, corrects that first (R260). */
  async #decide(batch: readonly PreparedMessage[]): Promise<Answers> {
    try {
      return await this.#decideLocked(batch);
    } catch (error) {
      if (!(error instanceof TimesAhead)) throw error;
      for (const accountId of error.accountIds) await setTimesBack(this.#sql, accountId);
      return this.#decideLocked(batch);
    }
  }

  /**
   * Locks the accounts and decides message by message. Accepts the messages that the balance covers and whose
   * idempotency key has no answer.
   */
  async #decideLocked(batch: readonly PreparedMessage[]): Promise<Answers> {
    const answers = await this.#transaction(async (sql) => {
      // Send both statements together. The second one starts when the first one has its locks. So it sees the answers
      // that another process has committed.
      const [{ balances, moving }, replays] = await Promise.all([
        lockAccounts(sql, batch),
        findReplays(sql, batch),
      ]);
      const answers: Answers = new Map(replays);
      for (const prepared of batch) {
        const how = moving.get(prepared.accountId);
        if (how !== undefined && !answers.has(prepared)) answers.set(prepared, { moving: how });
      }
      const asked = batch.filter((prepared) => !answers.has(prepared));
      const { affordable, refused } = decideBatch(asked, balances, await readLimits(sql, asked));
      for (const { prepared, shortage } of refused) answers.set(prepared, shortage);
      if (affordable.length === 0) return async () => answers;
      const accepted = await this.#write(sql, affordable);
      return async () => new Map([...answers, ...(await accepted())]);
    });
    for (const id of accountsOf(batch)) {
      const isSmooth = batch.every((prepared) => prepared.accountId !== id || isNew(answers.get(prepared)));
      this.#note(id, isSmooth);
    }
    return answers;
  }

  /**
   * Call this after a batch of the account was decided message by message. If all its messages were accepted
   * (`isSmooth`), one batch fewer is decided in this way. Otherwise the count starts again.
   */
  #note(accountId: string, isSmooth: boolean): void {
    const left = (isSmooth ? (this.#careful.get(accountId) ?? 0) : CAREFUL_BATCHES + 1) - 1;
    if (left <= 0) this.#careful.delete(accountId);
    else {
      if (this.#careful.size >= MAX_CAREFUL) this.#careful.clear();
      this.#careful.set(accountId, left);
    }
  }

  /** Runs `work` in one transaction. Resolves with its answers after the commit. */
  async #transaction(work: (sql: Sql) => Promise<AnswersLater>): Promise<Answers> {
    const answersLater = await this.#sql.transaction(work);
    return answersLater();
  }

  async #write(sql: Sql, batch: readonly PreparedMessage[]): Promise<AnswersLater> {
    const answersLater = writeAccepted(sql, batch);
    announceLive(sql, 'message', batch);
    const transaction = {
      connection: sql.sender,
      onEnd: (callback: (isCommitted: boolean) => void) => sql.onEnd(callback),
    };
    await this.#jobsFor(transaction).enqueue(submitJobs(batch));
    return answersLater;
  }
}

const accountsOf = (batch: readonly PreparedMessage[]) => [
  ...new Set(batch.map(({ accountId }) => accountId)),
];

/**
 * Returns the size of a message in a batch, in recipients. A large email counts as more recipients, so that memory
 * stays bounded.
 */
const weightOf = ({ recipients, bulk }: PreparedMessage): number =>
  recipients.length + Math.floor(charactersIn(bulk) / CHARACTERS_A_RECIPIENT);

function charactersIn(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object') return 0;
  return Object.values(value ?? {}).reduce<number>((sum, member) => sum + charactersIn(member), 0);
}

const isAnswer = (decision: Decision): decision is SendAnswer => 'isReplay' in decision;
const isNew = (decision: Decision | undefined): decision is NewAnswer =>
  decision !== undefined && 'seq' in decision;

interface LockedRow {
  readonly id: string;
  readonly balance_minor: number;
  readonly is_ahead: boolean;
  readonly moving: Moving['moving'] | null;
}

/**
 * Locks the accounts of the batch and returns their balances, and which of them move to another cell. Throws
 * `TimesAhead`.
 */
async function lockAccounts(sql: Sql, batch: readonly PreparedMessage[]) {
  const rows = await sql.query<LockedRow>(LOCK, [accountsOf(batch)]);
  const ahead = rows.filter((row) => row.is_ahead);
  if (ahead.length > 0) throw new TimesAhead(ahead.map(({ id }) => id));
  return {
    balances: new Map(rows.map((row) => [row.id, row.balance_minor])),
    moving: new Map(rows.flatMap(({ id, moving }) => (moving === null ? [] : [[id, moving] as const]))),
  };
}
