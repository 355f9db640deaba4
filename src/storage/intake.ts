import { Batcher } from '../domain/batcher.ts';
import type { Environment } from '../domain/caller.ts';
import { serviceUnavailable } from '../domain/errors.ts';
import { type AcceptDecision, type AccountState, decideBatch } from '../domain/messages/batch-decision.ts';
import {
  acceptedMessage,
  CHANNELS,
  type IdempotencyClaim,
  type PreparedMessage,
} from '../domain/messages/message.ts';
import { messageResource } from '../domain/messages/message-resource.ts';
import type { Intake, IntakeAnswer, StoredAnswer } from '../domain/ports/intake.ts';
import { databaseFault } from './faults.ts';
import { claimKey, findAnswers, type ScopedClaim } from './idempotency.ts';
import { announceLive } from './pg-live.ts';
import { type Sql, statement } from './sql.ts';
import { submitJobs } from './submit-jobs.ts';
import type { JobSinkFor } from './unit-of-work.ts';

const LOCK = statement(
  'intake-lock',
  `SELECT id, balance_minor, ledger_seq, sms_seq, email_seq, push_seq, whatsapp_seq, last_accepted_at
   FROM accounts WHERE id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE`,
);
const WRITE = statement(
  'intake-write',
  `WITH account AS (
     UPDATE accounts a SET balance_minor = n.balance, ledger_seq = n.ledger, sms_seq = n.sms,
       email_seq = n.email, push_seq = n.push, whatsapp_seq = n.whatsapp, last_accepted_at = n.accepted
     FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
       $47::timestamptz[]) AS n (id, balance, ledger, sms, email, push, whatsapp, accepted)
     WHERE a.id = n.id
   ), message AS (
     INSERT INTO messages (id, account_id, seq, cost_minor, unit_price_minor, created_at, expires_at, scheduled_for,
       invalid_skipped, duplicates_removed, channel, environment, currency, api_key_id, user_id, sender, content,
       payload, bulk)
     SELECT * FROM unnest($8::uuid[], $9::uuid[], $10::bigint[], $11::bigint[], $12::bigint[], $13::timestamptz[],
       $14::timestamptz[], $15::timestamptz[], $16::int[], $17::int[], $18::text[], $19::text[],
       $20::text[], $21::text[], $22::uuid[], $23::text[], $24::text[], $25::jsonb[],
       $49::jsonb[])
     RETURNING account_id, created_at, channel, environment, api_key_id, cost_minor
   ), usage AS (
     INSERT INTO usage_deltas (account_id, hour, channel, environment, status, api_key_id, messages, cost_minor)
     SELECT account_id, date_trunc('hour', created_at, 'UTC'), channel, environment,
       CASE environment WHEN 'sandbox' THEN 'sent' ELSE 'pending' END, coalesce(api_key_id, ''), count(*), sum(cost_minor)
     FROM message GROUP BY 1, 2, 3, 4, 5, 6
   ), recipient AS (
     INSERT INTO recipients (message_id, account_id, position, address, cost_minor, status, sent_at, claimed)
     SELECT * FROM unnest($26::uuid[], $27::uuid[], $28::smallint[], $29::text[], $30::bigint[], $31::text[],
       $32::timestamptz[], $48::boolean[])
   ), entry AS (
     INSERT INTO ledger_entries (account_id, seq, amount_minor, balance_after_minor, message_id, kind, created_at)
     SELECT *, 'charge', $38::timestamptz FROM unnest($33::uuid[], $34::bigint[], $35::bigint[], $36::bigint[], $37::uuid[])
   )
   INSERT INTO idempotency_records (account_id, environment, route, key, message_id, status_code, body, expires_at)
   SELECT * FROM unnest($39::uuid[], $40::text[], $41::text[], $42::text[], $43::uuid[], $44::int[], $45::text[],
     $46::timestamptz[])
   ON CONFLICT (account_id, environment, route, key) DO UPDATE SET message_id = excluded.message_id,
     status_code = excluded.status_code, body = excluded.body, expires_at = excluded.expires_at`,
);

const IDEMPOTENCY_RETENTION_MS = 24 * 3_600_000;
const ACCEPTED_STATUS = 200;

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
      const accounts = await lockAccounts(sql, batch);
      const answers = await findReplays(sql, batch);
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
        await sql.execute(WRITE, writeValues(accepted, after));
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

interface AcceptedWithBody {
  readonly decision: AcceptDecision;
  readonly body: string;
}

function writeValues(
  accepted: readonly AcceptedWithBody[],
  after: ReadonlyMap<string, AccountState>,
): unknown[] {
  const accounts = [...after];
  const messages = accepted.map(({ decision }) => decision.prepared);
  const recipients = messages.flatMap((message) =>
    message.recipients.map((recipient, position) => ({ message, recipient, position })),
  );
  const charged = accepted.flatMap(({ decision }) =>
    decision.ledger ? [{ prepared: decision.prepared, ledger: decision.ledger }] : [],
  );
  const claimed = accepted.flatMap(({ decision: { prepared }, body }) =>
    prepared.idempotency ? [{ message: prepared, claim: prepared.idempotency, body }] : [],
  );
  const isSandbox = (message: PreparedMessage) => message.environment === 'sandbox';
  return [
    accounts.map(([id]) => id),
    accounts.map(([, state]) => state.balanceMinor),
    accounts.map(([, state]) => state.ledgerSeq),
    ...CHANNELS.map((channel) => accounts.map(([, state]) => state.seq[channel])),
    messages.map((message) => message.id),
    messages.map((message) => message.accountId),
    accepted.map(({ decision }) => decision.seq),
    messages.map((message) => message.costMinor),
    messages.map((message) => message.unitPriceMinor),
    messages.map((message) => message.createdAt),
    messages.map((message) => message.expiresAt),
    messages.map((message) => message.scheduledFor),
    messages.map((message) => message.invalidSkipped),
    messages.map((message) => message.duplicatesRemoved),
    messages.map((message) => message.channel),
    messages.map((message) => message.environment),
    messages.map((message) => message.currency),
    messages.map((message) => message.apiKeyId),
    messages.map((message) => message.userId),
    messages.map((message) => message.from),
    messages.map((message) => message.content),
    messages.map((message) => (message.payload === null ? null : JSON.stringify(message.payload))),
    recipients.map(({ message }) => message.id),
    recipients.map(({ message }) => message.accountId),
    recipients.map(({ position }) => position),
    recipients.map(({ recipient }) => recipient.address),
    recipients.map(({ recipient }) => recipient.costMinor),
    recipients.map(({ message }) => (isSandbox(message) ? 'sent' : 'pending')),
    recipients.map(({ message }) => (isSandbox(message) ? message.createdAt : null)),
    charged.map(({ prepared }) => prepared.accountId),
    charged.map(({ ledger }) => ledger.seq),
    charged.map(({ prepared }) => -prepared.costMinor),
    charged.map(({ ledger }) => ledger.balanceAfterMinor),
    charged.map(({ prepared }) => prepared.id),
    messages[0]?.createdAt,
    claimed.map(({ message }) => message.accountId),
    claimed.map(({ message }) => message.environment),
    claimed.map(({ claim }) => claim.route),
    claimed.map(({ claim }) => claim.key),
    claimed.map(({ message }) => message.id),
    claimed.map(() => ACCEPTED_STATUS),
    claimed.map(({ body }) => body),
    claimed.map(({ message }) => new Date(message.createdAt.getTime() + IDEMPOTENCY_RETENTION_MS)),
    accounts.map(([, state]) => state.lastAcceptedAt),
    // What is due at once is claimed from birth, which saves its worker a write; the rest can be canceled.
    recipients.map(({ message }) => message.scheduledFor === null),
    messages.map((message) => (message.bulk === null ? null : JSON.stringify(message.bulk))),
  ];
}
