import type { KeyRowFragment } from './api-keys.generated.ts';

/** A key of the list, and whether the key above it replaced it. */
export type GroupedKey = KeyRowFragment & { readonly isReplaced: boolean };

/**
 * Orders keys so that each rotated key follows the key that replaced it. The other keys keep their order. A key whose
 * successor is not in the list keeps its place, too.
 */
export function groupedKeys(keys: readonly KeyRowFragment[]): readonly GroupedKey[] {
  const known = new Set(keys.map(({ keyId }) => keyId));
  const successorOf = ({ replacedBy }: KeyRowFragment) =>
    replacedBy !== null && known.has(replacedBy.keyId) ? replacedBy.keyId : undefined;
  const replaced = Map.groupBy(keys, successorOf);
  const withReplaced = (key: KeyRowFragment, isReplaced: boolean): readonly GroupedKey[] => [
    { ...key, isReplaced },
    ...(replaced.get(key.keyId) ?? []).flatMap((earlier) => withReplaced(earlier, true)),
  ];
  return (replaced.get(undefined) ?? []).flatMap((key) => withReplaced(key, false));
}
