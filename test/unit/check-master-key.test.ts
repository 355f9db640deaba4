import { describe, expect, it } from '@jest/globals';
import { ConfigError } from '../../src/config/config.ts';
import { createSecretBox, sealedUnder } from '../../src/crypto/secret-box.ts';
import { faultOfMasterKey } from '../../src/start/check-master-key.ts';

const [OLD, NEW, STRANGE] = [1, 2, 3].map((byte) => Buffer.alloc(32, byte)) as [
  Buffer<ArrayBuffer>,
  Buffer<ArrayBuffer>,
  Buffer<ArrayBuffer>,
];
const sealedBy = (key: Buffer<ArrayBuffer>) => createSecretBox(key).seal('whsec_1');
const nameOf = (key: Buffer<ArrayBuffer>) => sealedUnder(sealedBy(key));

interface Case {
  key: Buffer<ArrayBuffer>;
  previous?: Buffer<ArrayBuffer>[];
  lost?: string[];
  isGenerated?: boolean;
  samples: string[];
}

/** Returns the refusal and the warnings. */
function check({ key, previous = [], lost = [], isGenerated = false, samples }: Case) {
  const warnings: unknown[] = [];
  const logger = { warn: (fields: object) => warnings.push(fields) };
  const config = { masterKey: isGenerated ? undefined : key, dataDir: '.data', lostMasterKeys: lost };
  const fault = faultOfMasterKey(config, createSecretBox(key, previous), samples, logger);
  if (fault === undefined) return { warnings };
  expect(fault).toBeInstanceOf(ConfigError);
  return { warnings, refusal: fault.message };
}

describe('the master key must open the stored secrets', () => {
  it.each<[string, Case]>([
    ['a database without secrets', { key: NEW, samples: [] }],
    ['the key that sealed them', { key: OLD, samples: [sealedBy(OLD)] }],
    ['a new key beside the old one', { key: NEW, previous: [OLD], samples: [sealedBy(OLD), sealedBy(NEW)] }],
    ['an old key beside the new one', { key: OLD, previous: [NEW], samples: [sealedBy(OLD), sealedBy(NEW)] }],
    ['a key that is said to be lost', { key: NEW, lost: [nameOf(OLD)], samples: [sealedBy(OLD)] }],
  ])('accepts: %s', (_name, given) => {
    expect(check(given)).toEqual({ warnings: [] });
  });

  it('refuses a key that opens none of them, and names the variable to set', () => {
    const { refusal } = check({ key: STRANGE, samples: [sealedBy(OLD), sealedBy(NEW)] });
    expect(refusal).toMatch(/^MASTER_KEY is not that of this database: it opens none/);
    expect(refusal).toContain(`the key ${nameOf(OLD)} and the key ${nameOf(NEW)}`);
    expect(refusal).toContain('add it to MASTER_KEY_PREVIOUS');
    expect(refusal).toContain(`MASTER_KEY_LOST=${nameOf(OLD)},${nameOf(NEW)}`);
  });

  it('names the file when the key was generated', () => {
    const { refusal } = check({ key: STRANGE, isGenerated: true, samples: [sealedBy(OLD)] });
    expect(refusal).toMatch(
      /^The master key in \.data\/master\.key \(MASTER_KEY is not set\) is not that of/,
    );
  });

  it('refuses when another key than the missing one is declared lost', () => {
    expect(check({ key: STRANGE, lost: [nameOf(OLD)], samples: [sealedBy(NEW)] }).refusal).toContain(
      nameOf(NEW),
    );
  });

  it('refuses when only some of the lost keys are declared lost, and lists all of them', () => {
    const samples = [sealedBy(OLD), sealedBy(NEW)];
    const { refusal = '' } = check({ key: STRANGE, lost: [nameOf(OLD)], samples });
    const [, advised = ''] = /MASTER_KEY_LOST=([0-9a-f,]+)/.exec(refusal) ?? [];
    expect(check({ key: STRANGE, lost: advised.split(','), samples })).toEqual({ warnings: [] });
  });

  it('accepts with a warning secrets that another process sealed with a newer key, and names that key', () => {
    expect(check({ key: OLD, samples: [sealedBy(OLD), sealedBy(NEW)] })).toEqual({
      warnings: [{ masterKeys: [nameOf(NEW)] }],
    });
  });
});
