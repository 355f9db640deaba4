import { Badge } from '../../ui/badge.tsx';
import { type Counted, statusTone, statusWords } from './message-text.ts';

/** The state of a message. If its recipients differ, it says how many got it: `106 of 107 delivered`. */
export function StatusBadge({ of: message }: { of: Counted }) {
  return <Badge status={statusTone(message)}>{statusWords(message)}</Badge>;
}
