import { statusOf } from './key-rules.ts';

interface NamedKey {
  readonly keyId: string;
  readonly name: string;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
}

/** Those of the keys that still work. */
export function livingOf<Key extends NamedKey>(keys: readonly Key[]): readonly Key[] {
  const now = new Date();
  return keys.filter((key) => statusOf(key, now) === 'ACTIVE');
}

/** So many keys, in words. */
export function countOfKeys(count: number): string {
  return count === 1 ? '1 key' : `${count} keys`;
}

/** The keys that a question is about. */
export function KeyNames({ keys }: { keys: readonly NamedKey[] }) {
  return (
    <ul>
      {keys.map(({ keyId, name }) => (
        <li key={keyId}>
          {name} <code>{keyId}</code>
        </li>
      ))}
    </ul>
  );
}
