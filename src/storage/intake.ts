import { Batcher } from '../domain/batcher.ts';
import type { Environment } from '../domain/caller.ts';
import { serviceUnavailable } from '../domain/errors.ts';
import { type AccountState, decideBatch } from '../domain/messages/batch-decision.ts';
import { acceptedMessage, type IdempotencyClaim, type PreparedMessage } from '../domain/messages/message.ts';
import { messageResource } from '../domain/messages/message-resource.ts';
import type { Intake, IntakeAnswer, StoredAnswer } from '../domain/ports/intake.ts';
import { databaseFault } from './faults.ts';
import { claimKey, findAnswers, type ScopedClaim } from './idempotency.ts';
import { ACCEPTED_STATUS, type AcceptedWithBody, writeAccepted } from './intake-write.ts';
import { announceLive } from './pg-live.ts';
import { type Sql, statement } from './sql.ts';
import { submitJobs } from './submit-jobs.ts';
import type { JobSinkFor } from './unit-of-work.ts';

const LOCK = statement(
  'intake-lock',
  `SELECT id, balance_minor, ledger_seq, sms_seq, email_seq, push_seq, whatsapp_seq, last_accepted_at
   FROM accounts WHERE id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE`,
);

/** So many characters of an email's texts and attachments take the place of one recipient. */
const CHARACTERS_A_RECIPIENT = 2_048;

export interface IntakeOptions {
  /** Recipients that one transaction takes at the most; what is heavier alone goes alone. */
  readonly maxBatchRecipients: number;
  /** Recipients that may wait; more are refused with `service_unavailable` before anything is accepted. */
  readonly maxWaitingRecipients: number;
}

interface AccountRow {
  id: string;
  balance_minor: number;
  ledger_seq: number;
  sms_seq: number;
  email_seq: number;
  push_seq: number;
  whatsapp_seq: number;
  last_accepted_at: Date | null;
}

/** Intake on PostgreSQL, by group commit: one transaction at a time, with all that came while the last one ran. */
export class PgIntake implements Intake {
  readonly #sql: Sql;
  readonly #jobsFor: JobSinkFor;
  readonly #options: IntakeOptions;
  readonly #batches: Batcher<PreparedMessage, IntakeAnswer>;
  /** Requests under way that hold an idempotency key: a twin waits here, and then finds the stored answer. */
  readonly #claims = new Map<string, Promise<IntakeAnswer>>();

  constructor(sql: Sql, jobsFor: JobSinkFor, options: IntakeOptions) {
    this.#sql = sql;
    this.#jobsFor = jobsFor;
    this.#options = options;
    this.#batches = new Batcher((batch) => this.#commit(batch), {
      weight: weightOf,
      maxWeight: options.maxBatchRecipients,
      isolate: (error) => databaseFault(error) === undefined,
    });
  }

  async accept(prepared: PreparedMessage): Promise<IntakeAnswer> {
    const waiting = this.#batches.waitingWeight;
    if (waiting > 0 && waiting + weightOf(prepared) > this.#options.maxWaitingRecipients) {
      throw serviceUnavailable('More messages are waiting than can be stored. Try again.');
    }
    const claim = claimOf(prepared);
    if (!claim) return this.#batches.add(prepared);
    const key = claimKey(claim);
    for (let twin = this.#claims.get(key); twin; twin = this.#claims.get(key)) {
      const answer = await twin.catch(() => undefined);
      if (answer && answer.kind !== 'insufficient') return replayOf(answer);
    }
    const answer = this.#batches.add(prepared);
    this.#claims.set(key, answer);
    return answer.finally(() => this.#claims.delete(key));
  }

  async replay(
    accountId: string,
    environment: Environment,
    idempotency: IdempotencyClaim,
    now: Date,
  ): Promise<StoredAnswer | undefined> {
    const claim = { accountId, environment, idempotency };
    // A twin may be on its way to being accepted.
    await this.#claims.get(claimKey(claim))?.catch(() => undefined);
    return (await findAnswers(this.#sql, [claim], now)).get(claimKey(claim));
  }

  drain(): Promise<void> {
    return this.#batches.drain();
  }

  #commit(batch: readonly PreparedMessage[]): Promise<IntakeAnswer[]> {
    return this.#sql.transaction(async (sql) => {
      // Sent together. What another process answered before it let go of the accounts is found: the second statement
      // begins when the first has its locks.
      const [accounts, answers] = await Promise.all([lockAccounts(sql, batch), findReplays(sql, batch)]);
      const { decisions, after } = decideBatch(
        batch.filter((prepared) => !answers.has(prepared)),
        accounts,
      );
      const accepted: AcceptedWithBody[] = [];
      for (const decision of decisions) {
        if (decision.kind === 'refuse') {
          answers.set(decision.asked, { kind: 'insufficient', balanceMinor: decision.balanceMinor });
          continue;
        }
        const message = acceptedMessage(decision.prepared, decision.seq);
        const body = JSON.stringify(messageResource(message));
        accepted.push({ decision, body });
        answers.set(decision.asked, { kind: 'accepted', message, body });
      }
      if (accepted.length > 0) {
        await writeAccepted(sql, accepted, after);
        announceLive(
          sql,
          'message',
          accepted.map(({ decision }) => decision.prepared),
        );
        await this.#jobsFor({ connection: sql.sender, onEnd: (callback) => sql.onEnd(callback) }).enqueue(
          submitJobs(accepted.map(({ decision }) => decision.prepared)),
        );
      }
      return batch.map((prepared) => answers.get(prepared) as IntakeAnswer);
    });
  }
}

/** How much of a bound in recipients a message takes: memory must stay bounded for emails of megabytes, too. */
const weightOf = ({ recipients, bulk }: PreparedMessage): number =>
  recipients.length + Math.floor(charactersIn(bulk) / CHARACTERS_A_RECIPIENT);

function charactersIn(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object') return 0;
  return Object.values(value ?? {}).reduce<number>((sum, member) => sum + charactersIn(member), 0);
}

/** What a repeat is answered with. */
function replayOf(answer: Exclude<IntakeAnswer, { kind: 'insufficient' }>): IntakeAnswer {
  if (answer.kind === 'replayed') return answer;
  return { kind: 'replayed', messageId: answer.message.id, statusCode: ACCEPTED_STATUS, body: answer.body };
}

/** The messages of the batch whose idempotency key has been answered before. */
async function findReplays(
  sql: Sql,
  batch: readonly PreparedMessage[],
): Promise<Map<PreparedMessage, IntakeAnswer>> {
  const claims = batch.flatMap((prepared) => {
    const claim = claimOf(prepared);
    return claim ? [{ prepared, claim }] : [];
  });
  const now = claims[0]?.prepared.createdAt;
  if (!now) return new Map();
  const stored = await findAnswers(
    sql,
    claims.map(({ claim }) => claim),
    now,
  );
  return new Map(
    claims.flatMap(({ prepared, claim }) => {
      const answer = stored.get(claimKey(claim));
      return answer ? [[prepared, { kind: 'replayed', ...answer }]] : [];
    }),
  );
}

function claimOf(prepared: PreparedMessage): ScopedClaim | undefined {
  const { idempotency } = prepared;
  return idempotency ? { ...prepared, idempotency } : undefined;
}

async function lockAccounts(sql: Sql, batch: readonly PreparedMessage[]): Promise<Map<string, AccountState>> {
  const ids = [...new Set(batch.map((prepared) => prepared.accountId))];
  const rows = await sql.query<AccountRow>(LOCK, [ids]);
  return new Map(
    rows.map((row) => [
      row.id,
      {
        balanceMinor: row.balance_minor,
        ledgerSeq: row.ledger_seq,
        seq: { sms: row.sms_seq, email: row.email_seq, push: row.push_seq, whatsapp: row.whatsapp_seq },
        lastAcceptedAt: row.last_accepted_at,
      },
    ]),
  );
}
