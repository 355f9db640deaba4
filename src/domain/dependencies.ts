import type { Changes } from './ports/changes.ts';
import type { Intake } from './ports/intake.ts';
import type { Routing } from './ports/routing.ts';
import type { Stores, UnitOfWork } from './ports/stores.ts';
import type { Clock, Ids, PasswordHasher, SecretBox } from './ports/system.ts';
import type { WebhookTransport } from './ports/webhook-transport.ts';

/** Everything operations are built on; compose.ts provides it. */
export interface Dependencies {
  /** On the pool, outside any transaction: for reading. */
  readonly stores: Stores;
  readonly uow: UnitOfWork;
  readonly intake: Intake;
  readonly routing: Routing;
  readonly transport: WebhookTransport;
  readonly changes: Changes;
  readonly secrets: SecretBox;
  readonly passwords: PasswordHasher;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly settings: {
    readonly defaultSenderId: string;
  };
}
