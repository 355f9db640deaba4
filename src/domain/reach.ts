/**
 * The wall between the environments. Messages, events, webhook endpoints, deliveries, contacts, devices and imports
 * belong to the environment they were made in. A sandbox key reaches the sandbox only; a production key and a person
 * reach both. What a caller does not reach is `not_found` to it, and no list shows it.
 *
 * Stores that serve API keys take a `Reach` or a `Home`, never a bare account id: so an operation cannot forget it.
 */
import { accountIdOf, type Caller, type Environment, type Home, type Reach } from './caller.ts';

/** What a caller may look up and change. Throws `forbidden` for callers that belong to no account. */
export function reachOf(caller: Caller): Reach {
  const isWalledIn = caller.kind === 'api-key' && caller.environment === 'sandbox';
  return { accountId: accountIdOf(caller), environment: isWalledIn ? 'sandbox' : undefined };
}

/** Where what a caller makes belongs: a key's own environment; for a person the one they chose, or production. */
export function environmentOf(caller: Caller, chosen?: Environment): Environment {
  return caller.kind === 'api-key' ? caller.environment : (chosen ?? 'production');
}

/** The account and environment in which a caller makes something. Throws as `reachOf` does. */
export function homeOf(caller: Caller, chosen?: Environment): Home {
  return { accountId: accountIdOf(caller), environment: environmentOf(caller, chosen) };
}

/** The environment that a list of one environment shows; undefined when the caller does not reach it: the list is empty. */
export function shownHome(caller: Caller, asked: Environment | undefined): Home | undefined {
  const { accountId, environment } = reachOf(caller);
  const shown = asked ?? environmentOf(caller);
  return environment === undefined || environment === shown ? { accountId, environment: shown } : undefined;
}

/** What a list of both environments shows; undefined when the caller does not reach what it asks for. */
export function shownReach(caller: Caller, asked: Environment | undefined): Reach | undefined {
  return asked === undefined ? reachOf(caller) : shownHome(caller, asked);
}
