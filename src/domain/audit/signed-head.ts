import type { AuditHeads } from '../ports/audit-stores.ts';
import type { Stores } from '../ports/stores.ts';

/**
 * Runs when the process starts. A signed head is the number and hash of the last audit entry, signed with the master
 * key. After the call, the log has a head that is signed with the current key, and this process has stored it outside
 * the database.
 *
 * If a head cannot be decrypted, it is not replaced, so that `audit verify` reports it. The exception is a head whose
 * key the operator declared lost. A missing head is not replaced if this process has stored a head of the same log:
 * somebody may have removed the missing one.
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
