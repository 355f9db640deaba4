import { t } from '../../lib/words.ts';
import type { AlertKind, AlertRuleRowFragment, AlertState } from './alerts.generated.ts';

export const KIND_NAMES: Readonly<Record<AlertKind, string>> = {
  BALANCE_LOW: t('Low balance'),
  LIMIT_NEAR: t('Limit nearly reached'),
  WEBHOOK_FAILING: t('Failing webhook'),
  DELIVERY_RATE_LOW: t('Low delivery rate'),
  KEY_EXPIRING: t('Expiring API key'),
  SENDER_REJECTED: t('Rejected sender'),
  MESSAGES_HELD: t('Messages held for review'),
  SIGN_IN_NEW_COUNTRY: t('Sign-in from a new country'),
  CARRIER_DOWN: t('Carrier down'),
};
export const STATE_NAMES: Readonly<Record<AlertState, string>> = {
  OPEN: t('Open'),
  RESOLVED: t('Resolved'),
};

/** Says when an alert of a kind opens. */
export function conditionOf({ kind, threshold, isAvailable }: AlertRuleRowFragment): string {
  const number = threshold ?? 0;
  switch (kind) {
    case 'BALANCE_LOW':
      return t(
        '{number, plural, one {The balance lasts less than # day at the current rate.} other {The balance lasts less than # days at the current rate.}}',
        { number },
      );
    case 'LIMIT_NEAR':
      return t('{number} % of a send limit is used.', { number });
    case 'WEBHOOK_FAILING':
      return t(
        '{number, plural, one {A webhook has been failing for # minute, or was switched off for failing.} other {A webhook has been failing for # minutes, or was switched off for failing.}}',
        { number },
      );
    case 'DELIVERY_RATE_LOW':
      return t('The delivery rate of an hour is {number} percentage points below the usual one.', { number });
    case 'KEY_EXPIRING':
      return t(
        '{number, plural, one {An API key expires within # day.} other {An API key expires within # days.}}',
        { number },
      );
    case 'SENDER_REJECTED':
      return t('The operator has rejected a sender.');
    case 'MESSAGES_HELD':
      return t('Messages to many numbers in a row are held for review.');
    case 'SIGN_IN_NEW_COUNTRY':
      return isAvailable
        ? t('A person signs in from a country where they had not signed in for 180 days.')
        : t(
            'This cannot happen: the gateway does not know countries. It needs COUNTRY_DATABASE or COUNTRY_HEADER.',
          );
    case 'CARRIER_DOWN':
      return t(
        '{number, plural, one {A carrier has been down for # minute.} other {A carrier has been down for # minutes.}}',
        { number },
      );
  }
}

/** The label of the field for the threshold. */
export const THRESHOLD_LABELS: Readonly<Record<NonNullable<AlertRuleRowFragment['thresholdUnit']>, string>> =
  {
    DAYS: t('Days'),
    PERCENT: t('Percent'),
    MINUTES: t('Minutes'),
    POINTS: t('Percentage points'),
  };

/** Returns who gets mails about a kind of alert unless its rule says otherwise. `isOperator`: of the operators' rules. */
export function standardRecipientsOf(kind: AlertKind, isOperator: boolean): string {
  if (kind !== 'SIGN_IN_NEW_COUNTRY') return isOperator ? t('All operators') : t('Owners and administrators');
  return isOperator ? t('The person, and all operators') : t('The person, owners and administrators');
}

/** Returns who gets mails about a kind of alert if its rule names nobody. */
export function nobodyOf(kind: AlertKind): string {
  return kind === 'SIGN_IN_NEW_COUNTRY' ? t('The person alone') : t('Nobody');
}
