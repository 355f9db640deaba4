import type { Environment } from '../../domain/caller.ts';
import { insufficientBalance, outcomeUnknown, serviceUnavailable } from '../../domain/errors.ts';
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
import { claimKey, findAnswers, type ScopedClaim } from './idempotency.ts';
import {
  type Answers,
  type AnswersLater,
  type Decision,
  isRefused,
  type NewAnswer,
  writeAccepted,
} from './intake-write.ts';
import { SharedAccount } from './shared-account.ts';
import { submitJobs } from './submit-jobs.ts';

const LOCK = statement(
  'intake-lock',
  `SELECT id, balance_minor FROM accounts WHERE id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE`,
);

/** This many characters of an email's texts and attachments count as one recipient. */
const CHARACTERS_A_RECIPIENT = 2_048;

export interface IntakeOptions {
  /** Limit of recipients for one transaction. A heavier message goes alone. */
  readonly maxBatchRecipients: number;
  /** Limit of waiting recipients. More are refused with `service_unavailable` before anything is accepted. */
  readonly maxWaitingRecipients: number;
}

/** Above this size a batch takes half, so that one half is answered while the other commits. */
const HALVED_ABOVE = 32;
/**
 * After a refusal or a repeat, this many batches of the account are decided message by message, because another is
 * likely.
 */
const CAREFUL_BATCHES = 8;
/** Limit of accounts in that state. Above it the state is dropped, which costs a round trip. */
const MAX_CAREFUL = 10_000;

/**
 * Intake on PostgreSQL by group commit: one transaction at a time, with everything that arrived during the last one.
 */
export class PgIntake implements Intake {
  readonly #sql: Sql;
  readonly #jobsFor: JobSinkFor;
  readonly #options: IntakeOptions;
  readonly #batches: Batcher<PreparedMessage, Decision>;
  /** Requests in progress with an idempotency key. A twin waits for it, and then finds the stored answer. */
  readonly #claims = new TransientMap<string, Promise<Decision>>();
  /** Accounts whose batches are decided message by message, with the number of batches left. */
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
    const { costMinor, currency } = prepared;
    const balance = fromMinor(decision.balanceMinor, currency);
    throw insufficientBalance(balance, fromMinor(costMinor, currency), currency);
  }

  /** Accepts a message unless its idempotency key has an answer. */
  async #acceptOnce(prepared: PreparedMessage, key: string): Promise<Decision> {
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
    // A twin may be in progress.
    await this.#claims.get(claimKey(claim))?.catch(() => undefined);
    const isThere = (await findAnswers(this.#sql, [claim])).size > 0;
    // Another process may have released it before it was on the disk. Most keys have no answer, and do not wait for the
    // disk.
    return isThere
      ? (await findAnswers(this.#sql, [claim], { isTold: true })).get(claimKey(claim))
      : undefined;
  }

  drain(): Promise<void> {
    return this.#batches.drain();
  }

  /**
   * Accepts a whole batch in one round trip if PostgreSQL finds that all of it can be accepted, as is usual. Otherwise
   * nothing is written, and the batch is decided message by message.
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

  /** Undefined if the batch is not accepted as a whole. Messages may have joined it in any case. */
  async #acceptWhole(
    batch: PreparedMessage[],
    takeMore: TakeMore<PreparedMessage>,
  ): Promise<Answers | undefined> {
    if (batch.some(({ accountId }) => this.#careful.has(accountId))) return undefined;
    const [accountId, ...others] = accountsOf(batch);
    try {
      return await this.#transaction(async (sql) => {
        // The write itself locks a single account; several are locked in the order of their ids.
        if (others.length > 0) sql.send(LOCK, [[accountId, ...others]]);
        else if (batch.length > 1 && this.#shared.is(accountId)) {
          // Another process often holds the lock: messages that arrive during the wait join the batch.
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

  /** With the accounts locked, accepts messages that the balance covers and that were not answered earlier. */
  async #decide(batch: readonly PreparedMessage[]): Promise<Answers> {
    const answers = await this.#transaction(async (sql) => {
      // Sent together. The second statement starts when the first has its locks, so it finds what another process
      // answered before.
      const [balances, answers] = await Promise.all([lockAccounts(sql, batch), findReplays(sql, batch)]);
      const asked = batch.filter((prepared) => !answers.has(prepared));
      const { affordable, refused } = decideBatch(asked, balances);
      for (const { prepared, balanceMinor } of refused) {
        answers.set(prepared, { balanceMinor });
      }
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

  /** Records a batch of an account that was decided message by message, and whether all were accepted. */
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

/** How many recipients a message counts as, so that memory stays bounded for emails of megabytes. */
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

/** The messages of the batch whose idempotency key was answered earlier. */
async function findReplays(
  sql: Sql,
  batch: readonly PreparedMessage[],
): Promise<Map<PreparedMessage, Decision>> {
  const claims = batch.flatMap((prepared) => {
    const claim = claimOf(prepared);
    return claim ? [{ prepared, claim }] : [];
  });
  const stored = await findAnswers(
    sql,
    claims.map(({ claim }) => claim),
  );
  return new Map(
    claims.flatMap(({ prepared, claim }) => {
      const answer = stored.get(claimKey(claim));
      return answer ? [[prepared, answer]] : [];
    }),
  );
}

function claimOf(prepared: PreparedMessage): ScopedClaim | undefined {
  const { idempotency } = prepared;
  return idempotency ? { ...prepared, idempotency } : undefined;
}

/** The balances of the batch's accounts, which stay locked. */
async function lockAccounts(sql: Sql, batch: readonly PreparedMessage[]): Promise<Map<string, number>> {
  const rows = await sql.query<{ id: string; balance_minor: number }>(LOCK, [accountsOf(batch)]);
  return new Map(rows.map((row) => [row.id, row.balance_minor]));
}
