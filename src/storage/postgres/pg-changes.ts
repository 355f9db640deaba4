import { ALL_IDS, type ChangeKind, type Changes } from '../../domain/ports/changes.ts';
import type { PgListener } from './pg-listener.ts';

export interface Change {
  readonly kind: ChangeKind;
  readonly id: string;
  /** What exactly has changed, without spaces. Undefined: anything of the object. */
  readonly detail?: string | undefined;
}

type OnChange = Parameters<Changes['subscribe']>[1];

export const CHANGES_CHANNEL = 'gateway_changes';

export function changePayload(change: Change): string {
  const { kind, id, detail } = change;
  return detail === undefined ? `${kind} ${id}` : `${kind} ${id} ${detail}`;
}

/** Announcements of changes by all processes, received through NOTIFY. */
export class PgChanges implements Changes {
  readonly #listener: PgListener;
  readonly #subscribers: { kind: ChangeKind; onChange: OnChange }[] = [];

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
        const [kind, id, detail] = payload.split(' ');
        if (kind !== undefined && id !== undefined) this.deliver({ kind: kind as ChangeKind, id, detail });
      },
      // Announcements are lost while the listener is disconnected. So after a reconnect, subscribers must assume that
      // everything has changed.
      () => {
        for (const subscriber of this.#subscribers) subscriber.onChange(undefined);
      },
    );
  }

  subscribe(kind: ChangeKind, onChange: OnChange): void {
    this.#subscribers.push({ kind, onChange });
  }

  /** Calls the subscribers in this process. */
  deliver(change: Change): void {
    for (const subscriber of this.#subscribers) {
      if (subscriber.kind !== change.kind) continue;
      subscriber.onChange(change.id === ALL_IDS ? undefined : change.id, change.detail);
    }
  }
}
