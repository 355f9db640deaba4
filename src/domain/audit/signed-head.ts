import type { AuditHeads } from '../ports/audit-stores.ts';
import type { Stores } from '../ports/stores.ts';

/**
 * Sees to it, at a start, that the log has a head signed with the current master key, and that this process keeps it
 * outside the database. A head that cannot be opened stays, for `audit verify` to report, unless its key is declared
 * lost; so does one that is missing while this process keeps one of the log.
 */
export async function keepSignedHead({ audit }: Pick<Stores, 'audit'>, heads: AuditHeads): Promise<void> {
  const { logId, signed, end } = await audit.heads();
  if (signed === null || heads.isLost(signed)) {
    if (signed === null && (await heads.kept(logId))) return;
    await audit.replaceSigned(signed, heads.sign({ ...end, logId }));
    return;
  }
  const head = heads.read(signed);
  if (!head) return;
  if (heads.isOutdated(signed)) await audit.replaceSigned(signed, heads.sign(head));
  await heads.keep(head);
}
