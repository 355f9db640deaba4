import type { AuditHeads } from '../ports/audit-stores.ts';
import type { Stores } from '../ports/stores.ts';

/**
 * Run at the start. Makes sure that the log has a head signed with the current master key and that this process
 * stores it outside the database. Keeps a head that cannot be opened, so that `audit verify` reports it, unless its
 * key was declared lost. Does not replace a missing head while this process has stored one of the same log.
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
