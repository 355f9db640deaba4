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

/** So many characters of an email's texts and attachments take the place of one recipient. */
const CHARACTERS_A_RECIPIENT = 2_048;

export interface IntakeOptions {
  /** Recipients that one transaction takes at the most; what is heavier alone goes alone. */
  readonly maxBatchRecipients: number;
  /** Recipients that may wait; more are refused with `service_unavailable` before anything is accepted. */
  readonly maxWaitingRecipients: number;
}

/** Of more messages than this, half are answered while the other half is committed. */
const HALVED_ABOVE = 32;
/** After a refusal or a repeat so many batches of its account are decided message by message: another one is likely. */
const CAREFUL_BATCHES = 8;
/** Accounts that this is known of; when there are more it is forgotten, which costs a way to PostgreSQL and back. */
const MAX_CAREFUL = 10_000;

/** Intake on PostgreSQL, by group commit: one transaction at a time, with all that came while the last one ran. */
export class PgIntake implements Intake {
  readonly #sql: Sql;
  readonly #jobsFor: JobSinkFor;
  readonly #options: IntakeOptions;
  readonly #batches: Batcher<PreparedMessage, Decision>;
  /** Requests under way that hold an idempotency key: a twin waits here, and then finds the stored answer. */
  readonly #claims = new TransientMap<string, Promise<Decision>>();
  /** Accounts whose batches are decided message by message, so many more of them. */
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
    // A twin may be on its way to being accepted.
    await this.#claims.get(claimKey(claim))?.catch(() => undefined);
    const isThere = (await findAnswers(this.#sql, [claim])).size > 0;
    // Another process may have let go of it before it was on the disk. Most have no answer, and do not wait for that.
    return isThere
      ? (await findAnswers(this.#sql, [claim], { isTold: true })).get(claimKey(claim))
      : undefined;
  }

  drain(): Promise<void> {
    return this.#batches.drain();
  }

  /**
   * All of a batch is accepted in one way to PostgreSQL and back, which finds out by itself whether it can be: most can.
   * Where it cannot, nothing is written, and the batch is decided message by message.
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

  /** Undefined where the batch is not accepted as a whole; it may have grown in any case. */
  async #acceptWhole(
    batch: PreparedMessage[],
    takeMore: TakeMore<PreparedMessage>,
  ): Promise<Answers | undefined> {
    if (batch.some(({ accountId }) => this.#careful.has(accountId))) return undefined;
    const [accountId, ...others] = accountsOf(batch);
    try {
      return await this.#transaction(async (sql) => {
        // One account is locked by the statement that adds to it; of many, always in the order of their ids.
        if (others.length > 0) sql.send(LOCK, [[accountId, ...others]]);
        else if (batch.length > 1 && this.#shared.is(accountId)) {
          // Another process has it most of the time: what came while this one waited goes along.
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

  /** Accepts what its account can pay and has not been answered before, with the accounts locked. */
  async #decide(batch: readonly PreparedMessage[]): Promise<Answers> {
    const answers = await this.#transaction(async (sql) => {
      // Sent together. What another process answered before it let go of the accounts is found: the second statement
      // begins when the first has its locks.
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

  /** Takes note of an account's batch that was decided message by message, and whether all were accepted. */
  #note(accountId: string, isSmooth: boolean): void {
    const left = (isSmooth ? (this.#careful.get(accountId) ?? 0) : CAREFUL_BATCHES + 1) - 1;
    if (left <= 0) this.#careful.delete(accountId);
    else {
      if (this.#careful.size >= MAX_CAREFUL) this.#careful.clear();
      this.#careful.set(accountId, left);
    }
  }

  /** What `work` sends commits together; then its answers are had. */
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

/** How much of a bound in recipients a message takes: memory must stay bounded for emails of megabytes, too. */
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

/** The messages of the batch whose idempotency key has been answered before. */
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
