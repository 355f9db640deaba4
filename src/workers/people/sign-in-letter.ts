import { type Alert, type AlertState, isUnconfirmed } from '../../domain/alerts/alert.ts';
import { countryName } from '../../domain/people/country.ts';
import { timeOf } from './mail-time.ts';

interface SignInMail {
  readonly alert: Alert;
  readonly state: AlertState;
  readonly subject: string;
  /** True if the mail goes to the person who signed in, false if it goes to the people of the account. */
  readonly isOwn: boolean;
  readonly consoleUrl: string;
}

/** Writes a mail about a sign-in from a new country (R488). */
export function signInLetter({ alert, state, subject, isOwn, consoleUrl }: SignInMail) {
  const { country, device, address } = alert.detail;
  const from = `Country: ${countryName(String(country))} (${country}). Time: ${timeOf(alert.openedAt)}. Address: ${address}. Device: ${device}.`;
  if (state === 'resolved') {
    const end = isUnconfirmed(alert)
      ? 'Nobody has confirmed this sign-in within 7 days. The alert is closed.'
      : `The person has confirmed this sign-in, at ${timeOf(alert.resolvedAt ?? alert.openedAt)}.`;
    return {
      subject: `Resolved: ${subject}`,
      lines: [end, alert.summary, from, `If this is wrong, ${remedyOf(isOwn, consoleUrl)}`],
    };
  }
  return {
    subject,
    lines: [
      alert.summary,
      from,
      isOwn
        ? `If it was you, choose "It was me": ${consoleUrl}/alerts`
        : 'The person got a mail as well, and can confirm the sign-in in the console.',
      `If it was not ${isOwn ? 'you' : 'the person'}, ${remedyOf(isOwn, consoleUrl)}`,
    ],
  };
}

/** What to do about a sign-in by somebody else. */
function remedyOf(isOwn: boolean, consoleUrl: string): string {
  return isOwn
    ? `end all other sessions, then change your password: ${consoleUrl}/security`
    : `ask the person to end all sessions and to change the password. An owner or administrator can remove the person: ${consoleUrl}/members`;
}
