import { statusOf } from './key-rules.ts';

interface NamedKey {
  readonly keyId: string;
  readonly name: string;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
}

/** The keys that have not ended. */
export function livingOf<Key extends NamedKey>(keys: readonly Key[]): readonly Key[] {
  const now = new Date();
  return keys.filter((key) => statusOf(key, now) === 'ACTIVE');
}

/** A number of keys as text. */
export function countOfKeys(count: number): string {
  return count === 1 ? '1 key' : `${count} keys`;
}

/** The keys that a confirmation is about. */
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
