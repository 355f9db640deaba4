import { statusOf } from './key-rules.ts';

interface NamedKey {
  readonly keyId: string;
  readonly name: string;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
}

/** Returns the keys that are neither revoked nor expired. */
export function livingOf<Key extends NamedKey>(keys: readonly Key[]): readonly Key[] {
  const now = new Date();
  return keys.filter((key) => statusOf(key, now) === 'ACTIVE');
}

/** The list of the keys that a confirmation will revoke. */
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
