import type { User } from '../accounts/user.ts';
import { COUNTRY_DAYS, countryName } from '../people/country.ts';
import { deviceOf } from '../people/device.ts';
import type { Tx } from '../ports/stores.ts';
import { ruleOf } from './alert.ts';
import { type AlertSystem, changeAlerts } from './change-alerts.ts';

const KIND = 'sign_in_new_country';

interface NewCountry {
  /** Identifies the session. */
  readonly id: string;
  readonly createdAt: Date;
  readonly address: string;
  readonly userAgent: string;
  readonly country: string;
}

/**
 * Opens an alert for the sign-in of a person from a country where they have not signed in lately (R488). Its mails leave
 * with the transaction. Returns false if the rule of the account, or of the operators, is switched off.
 */
export async function alertOfSignIn(
  tx: Tx,
  system: AlertSystem,
  { id: userId, accountId, email }: User,
  { id: sessionId, createdAt, address, userAgent, country }: NewCountry,
): Promise<boolean> {
  const rules = await tx.alerts.ruleChanges([accountId]);
  if (!ruleOf(rules, accountId, KIND).isEnabled) return false;
  const device = deviceOf(userAgent);
  const finding = {
    accountId,
    kind: KIND,
    cause: `${userId}:${country}`,
    summary: `${email} signed in from ${countryName(country)}, where they had not signed in for ${COUNTRY_DAYS} days. Device: ${device}. Address: ${address}.`,
    detail: { userId, country, device, address, sessionId, signedInAt: createdAt.toISOString() },
  } as const;
  await changeAlerts(tx, system, { begun: [finding], ended: [], lasting: [] }, rules, createdAt);
  return true;
}
