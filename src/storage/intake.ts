import { Batcher } from '../domain/batcher.ts';
import { type AcceptDecision, type AccountState, decideBatch } from '../domain/messages/batch-decision.ts';
import { acceptedMessage, CHANNELS, type PreparedMessage } from '../domain/messages/message.ts';
import { messageResource } from '../domain/messages/message-resource.ts';
import { serviceUnavailable } from '../domain/errors.ts';
import type { Intake, IntakeAnswer } from '../domain/ports/intake.ts';
import type { NewJob } from '../domain/ports/job-queue.ts';
import type { JobSinkFor } from './unit-of-work.ts';
import { databaseFault } from './faults.ts';
import { type Sql, statement } from './sql.ts';

const LOCK = statement(
  'intake-lock',
  `SELECT id, balance_minor, ledger_seq, sms_seq, email_seq, push_seq, whatsapp_seq
   FROM accounts WHERE id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE`,
);
const REPLAYS = statement(
  'intake-replays',
  `SELECT account_id, environment, route, key, message_id, status_code, body FROM idempotency_records
   WHERE (account_id, environment, route, key) IN
     (SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[])) AND expires_at > $5`,
);
const WRITE = statement(
  'intake-write',
  `WITH account AS (
     UPDATE accounts a SET balance_minor = n.balance, ledger_seq = n.ledger, sms_seq = n.sms,
       email_seq = n.email, push_seq = n.push, whatsapp_seq = n.whatsapp
     FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
       AS n (id, balance, ledger, sms, email, push, whatsapp)
     WHERE a.id = n.id
   ), message AS (
     INSERT INTO messages (id, account_id, seq, cost_minor, unit_price_minor, created_at, expires_at, scheduled_for,
       invalid_skipped, duplicates_removed, channel, environment, status, currency, api_key_id, user_id, sender,
       content, payload)
     SELECT * FROM unnest($8::uuid[], $9::uuid[], $10::bigint[], $11::bigint[], $12::bigint[], $13::timestamptz[],
       $14::timestamptz[], $15::timestamptz[], $16::int[], $17::int[], $18::text[], $19::text[], $20::text[],
       $21::text[], $22::text[], $23::uuid[], $24::text[], $25::text[], $26::jsonb[])
   ), recipient AS (
     INSERT INTO recipients (message_id, account_id, position, address, cost_minor, status, sent_at)
     SELECT * FROM unnest($27::uuid[], $28::uuid[], $29::smallint[], $30::text[], $31::bigint[], $32::text[],
       $33::timestamptz[])
   ), entry AS (
     INSERT INTO ledger_entries (account_id, seq, amount_minor, balance_after_minor, message_id, kind, created_at)
     SELECT *, 'charge', $39::timestamptz FROM unnest($34::uuid[], $35::bigint[], $36::bigint[], $37::bigint[],
       $38::uuid[])
   )
   INSERT INTO idempotency_records (account_id, environment, route, key, message_id, status_code, body, expires_at)
   SELECT * FROM unnest($40::uuid[], $41::text[], $42::text[], $43::text[], $44::uuid[], $45::int[], $46::text[],
     $47::timestamptz[])
   ON CONFLICT (account_id, environment, route, key) DO UPDATE SET message_id = excluded.message_id,
     status_code = excluded.status_code, body = excluded.body, expires_at = excluded.expires_at`,
);

const IDEMPOTENCY_RETENTION_MS = 24 * 3_600_000;

export interface IntakeOptions {
  /** Recipients that one transaction takes at the most. */
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
}

/** Intake on PostgreSQL, by group commit: one transaction at a time, with all that came while the last one ran. */
export class PgIntake implements Intake {
  readonly #sql: Sql;
  readonly #jobsFor: JobSinkFor;
  readonly #options: IntakeOptions;
  readonly #batches: Batcher<PreparedMessage, IntakeAnswer>;
  /** Requests under way that hold an idempotency key: a twin waits here, and then finds the stored answer. */
  readonly #claims = new Map<string, Promise<unknown>>();

  constructor(sql: Sql, jobsFor: JobSinkFor, options: IntakeOptions) {
    this.#sql = sql;
    this.#jobsFor = jobsFor;
    this.#options = options;
    this.#batches = new Batcher((batch) => this.#commit(batch), {
      weight: (prepared) => prepared.recipients.length,
      maxWeight: options.maxBatchRecipients,
      isolate: (error) => databaseFault(error) === undefined,
    });
  }

  async accept(prepared: PreparedMessage): Promise<IntakeAnswer> {
    const waiting = this.#batches.waitingWeight;
    if (waiting > 0 && waiting + prepared.recipients.length > this.#options.maxWaitingRecipients) {
      throw serviceUnavailable('More messages are waiting than can be stored. Try again.');
    }
    const key = claimKey(prepared);
    if (key === undefined) return this.#batches.add(prepared);
    for (let twin = this.#claims.get(key); twin; twin = this.#claims.get(key)) await twin.catch(() => undefined);
    const answer = this.#batches.add(prepared);
    this.#claims.set(key, answer);
    return answer.finally(() => this.#claims.delete(key));
  }

  drain(): Promise<void> {
    return this.#batches.drain();
  }

  #commit(batch: readonly PreparedMessage[]): Promise<IntakeAnswer[]> {
    return this.#sql.transaction(async (sql, connection) => {
      const accounts = await lockAccounts(sql, batch);
      const replays = await findReplays(sql, batch);
      const answers = new Map<PreparedMessage, IntakeAnswer>();
      for (const prepared of batch) {
        const replay = replays.get(claimKey(prepared) ?? '');
        if (replay) answers.set(prepared, replay);
      }
      const { decisions, after } = decideBatch(
        batch.filter((prepared) => !answers.has(prepared)),
        accounts,
      );
      const accepted: AcceptedWithBody[] = [];
      for (const decision of decisions) {
        if (decision.kind === 'refuse') {
          answers.set(decision.prepared, { kind: 'insufficient', balanceMinor: decision.balanceMinor });
          continue;
        }
        const message = acceptedMessage(decision.prepared, decision.seq);
        const body = JSON.stringify(messageResource(message));
        accepted.push({ decision, body });
        answers.set(decision.prepared, { kind: 'accepted', message, body });
      }
      if (accepted.length > 0) {
        await sql.query(WRITE, writeValues(accepted, after));
        await this.#jobsFor(connection).enqueue(submitJobs(accepted.map(({ decision }) => decision.prepared)));
      }
      return batch.map((prepared) => answers.get(prepared) as IntakeAnswer);
    });
  }
}

function claimKey(prepared: PreparedMessage): string | undefined {
  const claim = prepared.idempotency;
  return claim ? `${prepared.accountId} ${prepared.environment} ${claim.route} ${claim.key}` : undefined;
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
      },
    ]),
  );
}

async function findReplays(sql: Sql, batch: readonly PreparedMessage[]): Promise<Map<string, IntakeAnswer>> {
  const claims = batch.flatMap((prepared) =>
    prepared.idempotency ? [{ prepared, claim: prepared.idempotency }] : [],
  );
  if (claims.length === 0) return new Map();
  const rows = await sql.query<{
    account_id: string;
    environment: string;
    route: string;
    key: string;
    message_id: string;
    status_code: number;
    body: string;
  }>(REPLAYS, [
    claims.map(({ prepared }) => prepared.accountId),
    claims.map(({ prepared }) => prepared.environment),
    claims.map(({ claim }) => claim.route),
    claims.map(({ claim }) => claim.key),
    claims[0]?.prepared.createdAt,
  ]);
  return new Map(
    rows.map((row) => [
      `${row.account_id} ${row.environment} ${row.route} ${row.key}`,
      { kind: 'replayed', messageId: row.message_id, statusCode: row.status_code, body: row.body },
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
    messages.map((message) => (isSandbox(message) ? 'sent' : 'pending')),
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
    claimed.map(() => 200),
    claimed.map(({ body }) => body),
    claimed.map(({ message }) => new Date(message.createdAt.getTime() + IDEMPOTENCY_RETENTION_MS)),
  ];
}

/** One job for each route and due time in the batch; a message over several routes names its positions. */
function submitJobs(messages: readonly PreparedMessage[]): NewJob<'submit'>[] {
  const jobs = new Map<string, { job: NewJob<'submit'>; messageIds: string[]; positions: Record<string, number[]> }>();
  for (const message of messages) {
    if (message.environment === 'sandbox') continue;
    const byGroup = new Map<string, number[]>();
    message.recipients.forEach((recipient, position) => {
      const positions = byGroup.get(recipient.group);
      if (positions) positions.push(position);
      else byGroup.set(recipient.group, [position]);
    });
    for (const [group, positions] of byGroup) {
      const key = `${group} ${message.scheduledFor?.getTime() ?? ''}`;
      let entry = jobs.get(key);
      if (!entry) {
        const messageIds: string[] = [];
        const byMessage: Record<string, number[]> = {};
        const data = { messageIds, positions: byMessage, attempt: 0 };
        entry = {
          job: { queue: 'submit', group, data, ...(message.scheduledFor ? { startAfter: message.scheduledFor } : {}) },
          messageIds,
          positions: byMessage,
        };
        jobs.set(key, entry);
      }
      entry.messageIds.push(message.id);
      if (byGroup.size > 1) entry.positions[message.id] = positions;
    }
  }
  return [...jobs.values()].map((entry) => entry.job);
}
