import { type Config, ConfigError } from '../config/config.ts';
import { sealedUnder } from '../crypto/secret-box.ts';
import type { Logger } from '../domain/ports/logger.ts';
import type { SecretBox } from '../domain/ports/system.ts';

/**
 * Checks that the master key can decrypt the secrets in the database. `samples` has one encrypted secret for each
 * master key in use.
 *
 * If no sample can be decrypted, the configured key is wrong, and new secrets would be encrypted with a second key: then
 * returns the error with which the start ends. If some samples cannot be decrypted, as during a change of the key, logs
 * a warning. Keys in MASTER_KEY_LOST are ignored.
 */
export function faultOfMasterKey(
  config: Pick<Config, 'masterKey' | 'dataDir' | 'lostMasterKeys'>,
  secrets: Pick<SecretBox, 'open'>,
  samples: readonly string[],
  logger: Pick<Logger, 'warn'>,
): ConfigError | undefined {
  const unopened = samples.filter((sample) => !opens(secrets, sample)).map(sealedUnder);
  const missing = unopened.filter((keyId) => !config.lostMasterKeys.includes(keyId));
  if (missing.length === 0) return undefined;
  if (unopened.length < samples.length) {
    logger.warn(
      { masterKeys: missing },
      'some secrets cannot be opened: their master keys are neither MASTER_KEY nor in MASTER_KEY_PREVIOUS',
    );
    return undefined;
  }
  const given =
    config.masterKey === undefined
      ? `The master key in ${config.dataDir}/master.key (MASTER_KEY is not set)`
      : 'MASTER_KEY';
  return new ConfigError(
    `${given} is not that of this database: it opens none of the stored secrets, and neither does ` +
      `MASTER_KEY_PREVIOUS. They were sealed with ${missing.map((keyId) => `the key ${keyId}`).join(' and ')}: ` +
      'set MASTER_KEY to it or, to change to another key, add it to MASTER_KEY_PREVIOUS. If it is lost for ' +
      `good, set MASTER_KEY_LOST=${unopened.join(',')}, then rotate the secrets of webhooks and replace the API ` +
      'keys that sign.',
  );
}

function opens(secrets: Pick<SecretBox, 'open'>, sample: string): boolean {
  try {
    secrets.open(sample);
    return true;
  } catch {
    return false;
  }
}
