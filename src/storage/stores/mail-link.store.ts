import type { MailLinkKind } from '../../domain/people/mail-link.ts';
import type { MailLinkStore } from '../../domain/ports/people-stores.ts';
import { type Sql, statement } from '../postgres/sql.ts';
import { mapUser, presentIn, USER_COLUMNS, type UserRow } from './user.store.ts';

const FIND = statement(
  'mail-link-find',
  `SELECT ${USER_COLUMNS.map((column) => `u.${column}`).join(', ')}, u.password_hash
   FROM mail_links l JOIN users u ON u.id = l.user_id AND u.password_hash = l.password_hash AND ${presentIn('u')}
   WHERE l.token_hash = $1 AND l.kind = $2 AND l.expires_at > $3`,
);

/** Stores the links that were sent by mail. They are found by the hash of their token. */
export class PgMailLinkStore implements MailLinkStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async insert(link: Parameters<MailLinkStore['insert']>[0]): Promise<void> {
    await this.#sql.table('mail_links').insert({
      token_hash: link.tokenHash,
      user_id: link.userId,
      kind: link.kind,
      password_hash: link.passwordHash,
      expires_at: link.expiresAt,
    });
  }

  async find(tokenHash: Buffer, kind: MailLinkKind, now: Date) {
    const values = [tokenHash, kind, now];
    const [row] = await this.#sql.query<UserRow & { password_hash: string }>(FIND, values);
    return row && { user: mapUser(row), passwordHash: row.password_hash };
  }

  async remove(tokenHash: Buffer): Promise<void> {
    await this.#sql.table('mail_links').where({ token_hash: tokenHash }).delete();
  }

  async forgetEnded(now: Date): Promise<void> {
    await this.#sql.table('mail_links').where('expires_at', '<', now).delete();
  }
}
