import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { AuditHead, AuditHeads } from '../domain/ports/audit-stores.ts';
import type { Logger } from '../domain/ports/logger.ts';
import type { SecretBox } from '../domain/ports/system.ts';
import { sealedUnder } from './secret-box.ts';

/** Each encrypted head contains this text. So no other encrypted text can pass as a head. */
const PURPOSE = 'audit-head';

/**
 * Signs heads of the audit log (the number and hash of its last entry). A head is encrypted with AES-256-GCM by
 * `secrets`, so nobody can make or change one without the master key. The last head is also kept in
 * DATA_DIR/audit-head. Processes that share the directory share the file.
 */
export function createAuditHeads(
  dataDir: string,
  secrets: SecretBox,
  lostMasterKeys: readonly string[],
  logger: Pick<Logger, 'warn'>,
): AuditHeads {
  const path = join(dataDir, 'audit-head');
  const currentKey = sealedUnder(secrets.seal(''));
  // Writes run one after another, so that an older head never replaces a newer one. If several heads wait, only the
  // newest is written.
  let writing: Promise<void> = Promise.resolve();
  let waiting: AuditHead | undefined;

  const sign = ({ logId, seq, hash }: AuditHead) =>
    secrets.seal(JSON.stringify([PURPOSE, logId, seq, hash.toString('hex')]));
  const read = (signed: string): AuditHead | undefined => {
    try {
      const [purpose, logId, seq, hash] = JSON.parse(secrets.open(signed));
      return purpose === PURPOSE ? { logId, seq, hash: Buffer.from(hash, 'hex') } : undefined;
    } catch {
      return undefined;
    }
  };
  const kept = async (logId: string) => {
    const text = await readFile(path, 'utf8').catch(() => '');
    const head = read(text.trim());
    return head?.logId === logId ? head : undefined;
  };
  const write = async (head: AuditHead) => {
    const last = await kept(head.logId);
    if (last && last.seq >= head.seq) return;
    const draft = `${path}.${randomBytes(6).toString('hex')}`;
    try {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(draft, sign(head), { mode: 0o600, flush: true });
      await rename(draft, path);
    } finally {
      await rm(draft, { force: true });
    }
  };
  return {
    sign,
    read,
    kept,
    idle: () => writing,
    isOutdated: (signed) => sealedUnder(signed) !== currentKey,
    isLost: (signed) => lostMasterKeys.includes(sealedUnder(signed)),
    keep(head) {
      const isScheduled = waiting !== undefined;
      if (!waiting || waiting.seq < head.seq) waiting = head;
      if (isScheduled) return writing;
      writing = writing
        .then(() => {
          const newest = waiting ?? head;
          waiting = undefined;
          return write(newest);
        })
        .catch((error: unknown) =>
          logger.warn({ err: error, path }, 'the head of the audit log cannot be kept outside the database'),
        );
      return writing;
    },
  };
}
