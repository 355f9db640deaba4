import type { Environment, Visibility } from '../../domain/caller.ts';
import type { Purpose } from '../../domain/messages/message.ts';
import type { KeyRange, Page, PageRequest } from '../../domain/paging.ts';
import type {
  ApprovedName,
  SenderFilter,
  SenderPatch,
  SenderStore,
  WhatsAppNumber,
} from '../../domain/ports/sender-store.ts';
import {
  comparedName,
  type FoundRecords,
  type Registration,
  type Sender,
  type SenderChannel,
  type SenderStatus,
} from '../../domain/senders/sender.ts';
import { type Sql, statement } from '../postgres/sql.ts';
import { whereVisible } from './account-rows.ts';

interface SenderRow {
  id: string;
  account_id: string;
  created_at: Date;
  reviewed_at: Date | null;
  verified_at: Date | null;
  checked_at: Date | null;
  environment: Environment;
  channel: SenderChannel;
  status: SenderStatus;
  name: string;
  purposes: Purpose[];
  use_case: string | null;
  company: string | null;
  note: string | null;
  token: string | null;
  registrations: Registration[];
  found: FoundRecords;
  phone_number_id: string | null;
}

const COLUMNS = [
  'id',
  'account_id',
  'created_at',
  'reviewed_at',
  'verified_at',
  'checked_at',
  'environment',
  'channel',
  'status',
  'name',
  'purposes',
  'use_case',
  'company',
  'note',
  'token',
  'registrations',
  'found',
  'phone_number_id',
] as const;

function mapRow(row: SenderRow): Sender {
  return {
    id: row.id,
    accountId: row.account_id,
    environment: row.environment,
    channel: row.channel,
    name: row.name,
    status: row.status,
    purposes: row.purposes,
    useCase: row.use_case,
    company: row.company,
    note: row.note,
    registrations: row.registrations,
    token: row.token,
    found: row.found,
    phoneNumberId: row.phone_number_id,
    createdAt: row.created_at,
    reviewedAt: row.reviewed_at,
    verifiedAt: row.verified_at,
    checkedAt: row.checked_at,
  };
}

interface NumberRow {
  account_id: string;
  phone_number_id: string;
  name: string;
}

function numberOf({ account_id, phone_number_id, name }: NumberRow): WhatsAppNumber {
  return { accountId: account_id, phoneNumberId: phone_number_id, number: name };
}

// The number separates this lock from other advisory locks. It could be any number.
const LOCK_ALL = statement('senders-lock-all', 'SELECT pg_advisory_xact_lock(7350140)');
const OF_ACCOUNT = statement(
  'senders-of-account',
  `SELECT ${COLUMNS.join(', ')} FROM senders WHERE account_id = $1 ORDER BY id`,
);
const TAKEN = statement(
  'senders-taken',
  `SELECT EXISTS (SELECT FROM senders WHERE channel = $2 AND look = $3 AND status = 'approved'
     AND environment = 'production' AND account_id <> $1) AS is_taken`,
);

const APPROVED = statement(
  'senders-approved',
  `SELECT account_id, channel, look FROM senders WHERE status = 'approved' AND environment = 'production'`,
);

const NUMBERS = 'SELECT account_id, phone_number_id, name FROM senders';
const WHATSAPP_NUMBERS = statement('senders-whatsapp-numbers', `${NUMBERS} WHERE channel = 'whatsapp'`);
const FIND_NUMBERS = statement('senders-find-numbers', `${NUMBERS} WHERE phone_number_id = ANY ($1::text[])`);
const NUMBER_OF_ANOTHER = statement(
  'senders-number-of-another',
  `${NUMBERS} WHERE account_id <> $1 AND channel = 'whatsapp' AND (phone_number_id = $2 OR name = $3) LIMIT 1`,
);

// Rows of an account that moves to another cell refuse changes, and would stop those of all other accounts (R503).
const TAKE_DUE_DOMAINS = statement(
  'senders-take-due-domains',
  `UPDATE senders SET check_at = $3 WHERE id IN (
     SELECT id FROM senders s WHERE channel = 'email' AND environment = 'production' AND status = 'approved'
       AND CASE WHEN check_at IS NULL THEN verified_at <= $2 ELSE check_at <= $1 END
       AND NOT EXISTS (SELECT FROM accounts a WHERE a.id = s.account_id AND a.moving IS NOT NULL)
     ORDER BY check_at LIMIT $4 FOR UPDATE SKIP LOCKED)
   RETURNING ${COLUMNS.join(', ')}`,
);
const KEEP_DOMAIN = statement(
  'senders-keep-domain',
  'UPDATE senders SET check_at = $2, missing_since = NULL WHERE id = $1',
);
const MISS_DOMAIN = statement(
  'senders-miss-domain',
  'UPDATE senders SET missing_since = coalesce(missing_since, $2) WHERE id = $1 RETURNING missing_since',
);

/** Stores senders (R430). */
export class PgSenderStore implements SenderStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async lockAll(): Promise<void> {
    await this.#sql.query(LOCK_ALL, []);
  }

  async ofAccount(accountId: string): Promise<readonly Sender[]> {
    return (await this.#sql.query<SenderRow>(OF_ACCOUNT, [accountId])).map(mapRow);
  }

  async isTaken(accountId: string, channel: SenderChannel, look: string): Promise<boolean> {
    const [row] = await this.#sql.query<{ is_taken: boolean }>(TAKEN, [accountId, channel, look]);
    return row?.is_taken ?? false;
  }

  async approved(): Promise<readonly ApprovedName[]> {
    const rows = await this.#sql.query<{ account_id: string; channel: SenderChannel; look: string }>(
      APPROVED,
      [],
    );
    return rows.map(({ account_id, channel, look }) => ({ accountId: account_id, channel, look }));
  }

  async whatsAppNumbers(): Promise<readonly WhatsAppNumber[]> {
    return (await this.#sql.query<NumberRow>(WHATSAPP_NUMBERS, [])).map(numberOf);
  }

  async findNumbers(phoneNumberIds: readonly string[]): Promise<ReadonlyMap<string, WhatsAppNumber>> {
    if (phoneNumberIds.length === 0) return new Map();
    const rows = await this.#sql.query<NumberRow>(FIND_NUMBERS, [phoneNumberIds]);
    return new Map(rows.map((row) => [row.phone_number_id, numberOf(row)]));
  }

  async numberOfAnother(
    accountId: string,
    phoneNumberId: string,
    number: string,
  ): Promise<WhatsAppNumber | undefined> {
    const [row] = await this.#sql.query<NumberRow>(NUMBER_OF_ANOTHER, [accountId, phoneNumberId, number]);
    return row && numberOf(row);
  }

  async insert(sender: Sender): Promise<void> {
    await this.#sql.table('senders').insert({
      id: sender.id,
      account_id: sender.accountId,
      created_at: sender.createdAt,
      reviewed_at: sender.reviewedAt,
      verified_at: sender.verifiedAt,
      checked_at: sender.checkedAt,
      environment: sender.environment,
      channel: sender.channel,
      status: sender.status,
      name: sender.name,
      look: comparedName(sender.channel, sender.name),
      purposes: [...sender.purposes],
      use_case: sender.useCase,
      company: sender.company,
      note: sender.note,
      token: sender.token,
      registrations: JSON.stringify(sender.registrations),
      found: JSON.stringify(sender.found),
      phone_number_id: sender.phoneNumberId,
    });
  }

  find(visibility: Visibility, id: string): Promise<Sender | undefined> {
    return this.#find({ ...whereVisible(visibility), id });
  }

  findOfAny(id: string): Promise<Sender | undefined> {
    return this.#find({ id });
  }

  async #find(where: object): Promise<Sender | undefined> {
    const row: SenderRow | undefined = await this.#sql
      .table('senders')
      .where(where)
      .first(...COLUMNS);
    return row && mapRow(row);
  }

  async page(filter: SenderFilter, { page, limit }: PageRequest): Promise<Page<Sender>> {
    const rows: SenderRow[] = await this.#matching(filter)
      .select(...COLUMNS)
      .orderBy('id', 'desc')
      .limit(limit)
      .offset((page - 1) * limit);
    return { rows: rows.map(mapRow), total: await this.count(filter) };
  }

  async slice(filter: SenderFilter, { limit, after }: KeyRange): Promise<readonly Sender[]> {
    const matching = this.#matching(filter).orderBy('id', 'desc').limit(limit);
    if (after !== undefined) matching.where('id', '<', after);
    const rows: SenderRow[] = await matching.select(...COLUMNS);
    return rows.map(mapRow);
  }

  async count(filter: SenderFilter): Promise<number> {
    const [row] = await this.#matching(filter).count<{ count: number }[]>({ count: '*' });
    return row?.count ?? 0;
  }

  async change(id: string, patch: SenderPatch): Promise<void> {
    const { status, note, reviewedAt, registrations, verifiedAt, checkedAt, found } = patch;
    await this.#sql
      .table('senders')
      .where({ id })
      .update({
        ...(status && { status }),
        ...(note !== undefined && { note }),
        ...(reviewedAt && { reviewed_at: reviewedAt }),
        ...(registrations && { registrations: JSON.stringify(registrations) }),
        ...(verifiedAt !== undefined && { verified_at: verifiedAt }),
        ...(checkedAt && { checked_at: checkedAt }),
        ...(found && { found: JSON.stringify(found) }),
      });
  }

  async takeDueDomains(now: Date, unchecked: Date, again: Date, most: number): Promise<readonly Sender[]> {
    return (await this.#sql.query<SenderRow>(TAKE_DUE_DOMAINS, [now, unchecked, again, most])).map(mapRow);
  }

  async keepDomain(id: string, checkAt: Date | null): Promise<void> {
    await this.#sql.execute(KEEP_DOMAIN, [id, checkAt]);
  }

  async missDomain(id: string, at: Date): Promise<Date> {
    const [row] = await this.#sql.query<{ missing_since: Date }>(MISS_DOMAIN, [id, at]);
    return row?.missing_since ?? at;
  }

  async remove(id: string): Promise<void> {
    await this.#sql.table('senders').where({ id }).delete();
  }

  #matching({ environment, accountId, channel, status }: SenderFilter) {
    const matching = this.#sql.table<SenderRow>('senders').where({ environment });
    if (accountId !== undefined) matching.where({ account_id: accountId });
    if (channel !== undefined) matching.where({ channel });
    if (status !== undefined) matching.where({ status });
    return matching;
  }
}
