import { formatName } from '../../lib/format.ts';

/** The part of an audit entry that its sentence needs. */
export interface Told {
  readonly action: string;
  readonly before: Readonly<Record<string, unknown>> | null;
  readonly after: Readonly<Record<string, unknown>> | null;
}

/**
 * Returns what somebody did, to go between their name and the name of the target: `turned key` … `to production`. An
 * unknown action is shown by its own name.
 */
export function sentenceOf({ action, before, after }: Told): {
  readonly verb: string;
  readonly ending?: string;
  /** True if the target is the person who acted, so that its name need not be repeated. */
  readonly isOwn?: boolean;
} {
  switch (action) {
    case 'apiKey.create':
      return { verb: 'created key', ending: after?.environment ? `for ${textOf(after.environment)}` : '' };
    case 'apiKey.update':
      return changedKey(before, after);
    case 'apiKey.rotate':
      return { verb: 'rotated key' };
    case 'apiKey.revoke':
      return { verb: 'revoked key' };
    case 'apiKey.setRateLimit':
      return { verb: 'changed the rate limit of key' };
    case 'apiKey.outsideAllowlist':
      return { verb: 'was refused for an IP address that is not allowed: key' };
    case 'webhook.register':
      return { verb: 'registered webhook' };
    case 'webhook.update':
      return { verb: 'changed webhook' };
    case 'webhook.rotateSecret':
      return { verb: 'rotated the secret of webhook' };
    case 'webhook.recover':
      return { verb: 'delivered again what failed of webhook' };
    case 'webhook.retry':
      return { verb: 'delivered an event again to webhook' };
    case 'webhook.retryMany':
      return { verb: 'delivered again a selection of webhook' };
    case 'webhook.delete':
      return { verb: 'deleted webhook' };
    case 'webhook.disable':
      return { verb: 'switched off webhook' };
    case 'member.invite':
      return { verb: 'invited', ending: after?.role ? `as ${formatName(textOf(after.role))}` : '' };
    case 'member.accept':
      return { verb: 'accepted the invitation', isOwn: true };
    case 'member.setRole':
      return {
        verb: 'changed the role of',
        ending: after?.role ? `to ${formatName(textOf(after.role))}` : '',
      };
    case 'member.remove':
      return { verb: 'removed' };
    case 'member.changePassword':
      return { verb: 'changed their password', isOwn: true };
    case 'member.resetPassword':
      return { verb: 'reset the password of' };
    case 'member.signIn':
      return { verb: 'signed in', isOwn: true };
    case 'member.signInFailed':
      return { verb: 'did not get in: a wrong password for' };
    case 'member.lockedOut':
      return { verb: 'is locked out after too many failures:' };
    case 'account.create':
      return { verb: 'created the account' };
    case 'account.topUp':
      return { verb: 'topped up the balance of account' };
    case 'account.setPlan':
      return { verb: 'changed the plan of account' };
    case 'account.setRetention':
      return { verb: 'changed how long texts are kept in account' };
    case 'account.setRequestLogging':
      return after?.fullBodies === true
        ? { verb: 'turned on the logging of whole bodies of requests for a day in account' }
        : { verb: 'ended the logging of whole bodies of requests in account' };
    case 'suppression.add':
      return { verb: 'added opt-out', ending: `on ${formatName(textOf(after?.channel))}` };
    case 'suppression.remove':
      return { verb: 'removed opt-out', ending: `on ${formatName(textOf(before?.channel))}` };
    case 'account.importSuppressions':
      return { verb: `suppressed ${textOf(after?.changed)} addresses from a file in account` };
    case 'account.startExport':
      return { verb: `exported ${textOf(after?.list)} of account` };
    case 'account.setSecurityPolicy':
      return { verb: 'changed the security policy of account' };
    case 'account.proveSingleSignOnDomain':
      return { verb: 'found the DNS record of the domain for single sign-on of account' };
    case 'account.loseSingleSignOnDomain':
      return { verb: 'found no DNS record of the domain for single sign-on of account' };
    case 'secondFactor.add':
      return { verb: 'added a second factor for' };
    case 'secondFactor.remove':
      return { verb: 'removed a second factor of' };
    case 'secondFactor.reset':
      return { verb: 'reset the second factors of' };
    case 'operatorReset.request':
      return { verb: `requested to reset the ${textOf(after?.kind)} of` };
    case 'operatorReset.refuse':
      return { verb: `refused to reset the ${textOf(after?.kind)} of` };
    case 'accessToken.create':
      return { verb: 'created an access token for' };
    case 'accessToken.revoke':
      return { verb: 'revoked an access token of' };
    case 'session.end':
      return { verb: 'ended a session of' };
    case 'sender.request':
      return { verb: 'requested sender', ending: `(${nameIn(after)})` };
    case 'sender.verify':
      return { verb: 'verified by DNS the domain of sender', ending: `(${nameIn(after)})` };
    case 'sender.review':
      return { verb: `${textOf(after?.status)} sender`, ending: `(${nameIn(after)})` };
    case 'sender.setRegistrations':
      return { verb: 'changed the registrations at networks of sender' };
    case 'sender.remove':
      return { verb: 'removed sender', ending: `(${nameIn(before)})` };
    case 'price.set':
      return { verb: 'changed the price' };
    default:
      return {
        verb: `${formatName(action.replaceAll('.', ' ').replace(/[A-Z]/g, (letter) => ` ${letter}`))}:`,
      };
  }
}

function changedKey(before: Told['before'], after: Told['after']) {
  if (after?.environment !== undefined && after.environment !== before?.environment) {
    return { verb: 'turned key', ending: `to ${textOf(after.environment)}` };
  }
  if (after?.name !== undefined && after.name !== before?.name) {
    return { verb: 'changed and renamed key', ending: `(before: ${String(before?.name ?? '')})` };
  }
  return { verb: 'changed key' };
}

/** Returns the sender ID or the domain of a sender. */
const nameIn = (sender: Told['after']): string => String(sender?.name ?? sender?.domain ?? '');

const textOf = (value: unknown): string => String(value ?? '').toLowerCase();
