import { formatName } from '../../lib/format.ts';
import { t } from '../../lib/words.ts';

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
      return {
        verb: t('created key'),
        ending: after?.environment ? t('for {environment}', { environment: wordOf(after.environment) }) : '',
      };
    case 'apiKey.update':
      return changedKey(before, after);
    case 'apiKey.rotate':
      return { verb: t('rotated key') };
    case 'apiKey.revoke':
      return { verb: t('revoked key') };
    case 'apiKey.setRateLimit':
      return { verb: t('changed the rate limit of key') };
    case 'apiKey.outsideAllowlist':
      return { verb: t('was refused for an IP address that is not allowed: key') };
    case 'webhook.register':
      return { verb: t('registered webhook') };
    case 'webhook.update':
      return { verb: t('changed webhook') };
    case 'webhook.rotateSecret':
      return { verb: t('rotated the secret of webhook') };
    case 'webhook.recover':
      return { verb: t('delivered again what failed of webhook') };
    case 'webhook.retry':
      return { verb: t('delivered an event again to webhook') };
    case 'webhook.retryMany':
      return { verb: t('delivered again a selection of webhook') };
    case 'webhook.delete':
      return { verb: t('deleted webhook') };
    case 'webhook.disable':
      return { verb: t('switched off webhook') };
    case 'member.invite':
      return {
        verb: t('invited'),
        ending: after?.role ? t('as {role}', { role: nameOf(after.role) }) : '',
      };
    case 'member.accept':
      return { verb: t('accepted the invitation'), isOwn: true };
    case 'member.setRole':
      return {
        verb: t('changed the role of'),
        ending: after?.role ? t('to {role}', { role: nameOf(after.role) }) : '',
      };
    case 'member.remove':
      return { verb: t('removed') };
    case 'member.changePassword':
      return { verb: t('changed their password'), isOwn: true };
    case 'member.resetPassword':
      return { verb: t('reset the password of') };
    case 'member.signIn':
      return { verb: t('signed in'), isOwn: true };
    case 'member.signInFailed':
      return { verb: t('did not get in: a wrong password for') };
    case 'member.lockedOut':
      return { verb: t('is locked out after too many failures:') };
    case 'account.create':
      return { verb: t('created the account') };
    case 'account.lookUp':
      return { verb: t('looked up a message of account') };
    case 'platform.lookUp':
      return { verb: t('looked up a message in all accounts'), isOwn: true };
    case 'account.topUp':
      return { verb: t('topped up the balance of account') };
    case 'account.setPlan':
      return { verb: t('changed the plan of account') };
    case 'account.setRetention':
      return { verb: t('changed how long texts are kept in account') };
    case 'account.setRequestLogging':
      return after?.fullBodies === true
        ? { verb: t('turned on the logging of whole bodies of requests for a day in account') }
        : { verb: t('ended the logging of whole bodies of requests in account') };
    case 'suppression.add':
      return {
        verb: t('added opt-out'),
        ending: t('on {channel}', { channel: nameOf(after?.channel) }),
      };
    case 'suppression.remove':
      return {
        verb: t('removed opt-out'),
        ending: t('on {channel}', { channel: nameOf(before?.channel) }),
      };
    case 'recipient.erase':
      return { verb: t('asked to erase a person, with the receipt') };
    case 'recipient.erased':
      return { verb: t('erased a person, with the receipt') };
    case 'recipient.export':
      return { verb: t('exported what is stored of a person in account') };
    case 'account.importSuppressions':
      return {
        verb: t('suppressed {count} addresses from a file in account', { count: textOf(after?.changed) }),
      };
    case 'account.startExport':
      return { verb: t('exported {list} of account', { list: textOf(after?.list) }) };
    case 'account.setSecurityPolicy':
      return { verb: t('changed the security policy of account') };
    case 'account.proveSingleSignOnDomain':
      return { verb: t('found the DNS record of the domain for single sign-on of account') };
    case 'account.loseSingleSignOnDomain':
      return { verb: t('found no DNS record of the domain for single sign-on of account') };
    case 'secondFactor.add':
      return { verb: t('added a second factor for') };
    case 'secondFactor.remove':
      return { verb: t('removed a second factor of') };
    case 'secondFactor.reset':
      return { verb: t('reset the second factors of') };
    case 'operatorReset.request':
      return {
        verb: isPassword(after)
          ? t('requested to reset the password of')
          : t('requested to reset the second factors of'),
      };
    case 'operatorReset.refuse':
      return {
        verb: isPassword(after)
          ? t('refused to reset the password of')
          : t('refused to reset the second factors of'),
      };
    case 'accessToken.create':
      return { verb: t('created an access token for') };
    case 'accessToken.revoke':
      return { verb: t('revoked an access token of') };
    case 'session.end':
      return { verb: t('ended a session of') };
    case 'session.confirmSignIn':
      return { verb: t('confirmed a sign-in from a new country of') };
    case 'sender.request':
      return { verb: t('requested sender') };
    case 'sender.verify':
      return { verb: t('verified by DNS the domain of sender') };
    case 'sender.loseDomain':
      return { verb: t('found no DNS record of the domain of sender') };
    case 'sender.review':
      return {
        verb: after?.status === 'APPROVED' ? t('approved sender') : t('rejected sender'),
      };
    case 'sender.setRegistrations':
      return { verb: t('changed the registrations at networks of sender') };
    case 'sender.remove':
      return { verb: t('removed sender') };
    case 'sender.assignNumber':
      return { verb: t('assigned the WhatsApp number') };
    case 'sender.removeNumber':
      return { verb: t('took away the WhatsApp number') };
    case 'price.set':
      return { verb: after?.amount === null ? t('removed the price') : t('changed the price') };
    default:
      return {
        verb: `${formatName(action.replaceAll('.', ' ').replace(/[A-Z]/g, (letter) => ` ${letter}`))}:`,
      };
  }
}

function changedKey(before: Told['before'], after: Told['after']) {
  if (after?.environment !== undefined && after.environment !== before?.environment) {
    return {
      verb: t('turned key'),
      ending: t('to {environment}', { environment: wordOf(after.environment) }),
    };
  }
  if (after?.name !== undefined && after.name !== before?.name) {
    return {
      verb: t('changed and renamed key'),
      ending: t('(before: {name})', { name: String(before?.name ?? '') }),
    };
  }
  return { verb: t('changed key') };
}

/** Returns the name that the entry itself has of its target. It is needed for a sender that is removed. */
export function recordedName({ action, before, after }: Told): string | undefined {
  if (!action.startsWith('sender.')) return undefined;
  const nameIn = (sender: Told['after']) => sender?.name ?? sender?.domain ?? sender?.number;
  const name = nameIn(after) ?? nameIn(before);
  return name === undefined || name === null ? undefined : String(name);
}

const textOf = (value: unknown): string => String(value ?? '').toLowerCase();
const nameOf = (value: unknown): string => formatName(textOf(value).toUpperCase());
const wordOf = (value: unknown): string => nameOf(value).toLowerCase();
const isPassword = (after: Told['after']): boolean => after?.kind === 'PASSWORD';
