import { ALL_IDS, type ChangeKind, type Changes } from '../../domain/ports/changes.ts';
import type { PgListener } from './pg-listener.ts';

export interface Change {
  readonly kind: ChangeKind;
  readonly id: string;
}

export const CHANGES_CHANNEL = 'gateway_changes';

export function changePayload(change: Change): string {
  return `${change.kind} ${change.id}`;
}

/** Announcements of changes by all processes, received through NOTIFY. */
export class PgChanges implements Changes {
  readonly #listener: PgListener;
  readonly #subscribers: { kind: ChangeKind; onChange: (id: string | undefined) => void }[] = [];

  constructor(listener: PgListener) {
    this.#listener = listener;
  }

  get isListening(): boolean {
    return this.#listener.isListening;
  }

  async start(): Promise<void> {
    await this.#listener.listen(
      CHANGES_CHANNEL,
      (payload) => {
        const [kind, id] = payload.split(' ');
        if (kind !== undefined && id !== undefined) this.deliver({ kind: kind as ChangeKind, id });
      },
      // Announcements are lost while the listener is disconnected. So after a reconnect, subscribers must assume that
      // everything has changed.
      () => {
        for (const subscriber of this.#subscribers) subscriber.onChange(undefined);
      },
    );
  }

  subscribe(kind: ChangeKind, onChange: (id: string | undefined) => void): void {
    this.#subscribers.push({ kind, onChange });
  }

  /** Calls the subscribers in this process. */
  deliver(change: Change): void {
    for (const subscriber of this.#subscribers) {
      if (subscriber.kind !== change.kind) continue;
      subscriber.onChange(change.id === ALL_IDS ? undefined : change.id);
    }
  }
}
