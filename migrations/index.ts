import type { Knex } from 'knex';
import * as baseline from './0001_baseline.ts';
import * as dataCopy from './0002_data_copy.ts';
import * as oneCharge from './0003_one_charge.ts';
import * as chargesInOneStatement from './0005_charges_in_one_statement.ts';
import * as people from './0010_people.ts';
import * as inboundRetention from './0020_inbound_retention.ts';
import * as keyRequests from './0030_key_requests.ts';
import * as queryPoints from './0040_query_points.ts';
import * as analytics from './0050_analytics.ts';
import * as mailLinks from './0060_mail_links.ts';
import * as knownDevices from './0061_known_devices.ts';
import * as roles from './0062_roles.ts';
import * as passkeys from './0063_passkeys.ts';
import * as singleSignOn from './0080_single_sign_on.ts';
import * as sendLimits from './0100_send_limits.ts';
import * as confirmedPrices from './0101_confirmed_prices.ts';
import * as suppressions from './0102_suppressions.ts';
import * as operatorResets from './0120_operator_resets.ts';
import * as provedEmails from './0121_proved_emails.ts';
import * as singleSignOnDomains from './0122_single_sign_on_domains.ts';
import * as messagesWithFailures from './0125_messages_with_failures.ts';
import * as earlierFailures from './0126_earlier_failures.ts';
import * as requestLog from './0130_request_log.ts';
import * as senders from './0140_senders.ts';
import * as optOut from './0141_opt_out.ts';
import * as previousWebhookSecret from './0170_previous_webhook_secret.ts';
import * as stopBySms from './0180_stop_by_sms.ts';
import * as bouncedAddresses from './0181_bounced_addresses.ts';
import * as ledgerCredits from './0190_ledger_credits.ts';
import * as quietHours from './0200_quiet_hours.ts';
import * as heldSweeps from './0201_held_sweeps.ts';
import * as heldReviews from './0205_held_reviews.ts';
import * as alerts from './0210_alerts.ts';
import * as alertMails from './0211_alert_mails.ts';
import * as signInCountries from './0212_sign_in_countries.ts';
import * as erasures from './0220_erasures.ts';
import * as accountHashKeys from './0221_account_hash_keys.ts';
import * as complaints from './0225_complaints.ts';
import * as accountMoves from './0230_account_moves.ts';
import * as providerDays from './0240_provider_days.ts';
import * as smsWriters from './0250_sms_writers.ts';
import * as senderChecks from './0251_sender_checks.ts';
import * as whatsAppNumbers from './0260_whatsapp_numbers.ts';
import * as pastWhatsAppWriters from './0261_past_whatsapp_writers.ts';
import * as limitNumbers from './0262_limit_numbers.ts';
import * as timelineOfTheCopy from './0270_timeline_of_the_copy.ts';

/** One change of the schema. A released migration never changes. */
export interface Migration {
  readonly name: string;
  readonly up: (knex: Knex) => Promise<void>;
  readonly down: (knex: Knex) => Promise<void>;
  /**
   * `transaction` is false for a migration that runs without a transaction, for example to build indexes while the
   * gateway runs. Such a migration must be repeatable from its start.
   */
  readonly config?: { readonly transaction: boolean };
}

/**
 * In the order of their names. A name has a number of four digits, greater than all before it, and says what the
 * migration changes.
 */
export const migrations: readonly Migration[] = [
  { name: '0001_baseline', up: baseline.up, down: baseline.down },
  { name: '0002_data_copy', up: dataCopy.up, down: dataCopy.down },
  { name: '0003_one_charge', up: oneCharge.up, down: oneCharge.down },
  {
    name: '0005_charges_in_one_statement',
    up: chargesInOneStatement.up,
    down: chargesInOneStatement.down,
  },
  { name: '0010_people', up: people.up, down: people.down },
  { name: '0020_inbound_retention', up: inboundRetention.up, down: inboundRetention.down },
  { name: '0030_key_requests', up: keyRequests.up, down: keyRequests.down },
  { name: '0040_query_points', up: queryPoints.up, down: queryPoints.down },
  { name: '0050_analytics', up: analytics.up, down: analytics.down },
  { name: '0060_mail_links', up: mailLinks.up, down: mailLinks.down },
  { name: '0061_known_devices', up: knownDevices.up, down: knownDevices.down },
  { name: '0062_roles', up: roles.up, down: roles.down },
  { name: '0063_passkeys', up: passkeys.up, down: passkeys.down },
  { name: '0080_single_sign_on', up: singleSignOn.up, down: singleSignOn.down },
  { name: '0100_send_limits', up: sendLimits.up, down: sendLimits.down },
  { name: '0101_confirmed_prices', up: confirmedPrices.up, down: confirmedPrices.down },
  { name: '0102_suppressions', up: suppressions.up, down: suppressions.down },
  { name: '0120_operator_resets', up: operatorResets.up, down: operatorResets.down },
  { name: '0121_proved_emails', up: provedEmails.up, down: provedEmails.down },
  { name: '0122_single_sign_on_domains', up: singleSignOnDomains.up, down: singleSignOnDomains.down },
  { name: '0125_messages_with_failures', up: messagesWithFailures.up, down: messagesWithFailures.down },
  {
    name: '0126_earlier_failures',
    up: earlierFailures.up,
    down: earlierFailures.down,
    config: earlierFailures.config,
  },
  { name: '0130_request_log', up: requestLog.up, down: requestLog.down },
  { name: '0140_senders', up: senders.up, down: senders.down },
  { name: '0141_opt_out', up: optOut.up, down: optOut.down },
  {
    name: '0170_previous_webhook_secret',
    up: previousWebhookSecret.up,
    down: previousWebhookSecret.down,
  },
  { name: '0180_stop_by_sms', up: stopBySms.up, down: stopBySms.down },
  { name: '0181_bounced_addresses', up: bouncedAddresses.up, down: bouncedAddresses.down },
  {
    name: '0190_ledger_credits',
    up: ledgerCredits.up,
    down: ledgerCredits.down,
    config: ledgerCredits.config,
  },
  { name: '0200_quiet_hours', up: quietHours.up, down: quietHours.down },
  { name: '0201_held_sweeps', up: heldSweeps.up, down: heldSweeps.down },
  { name: '0205_held_reviews', up: heldReviews.up, down: heldReviews.down },
  { name: '0210_alerts', up: alerts.up, down: alerts.down },
  { name: '0211_alert_mails', up: alertMails.up, down: alertMails.down },
  { name: '0212_sign_in_countries', up: signInCountries.up, down: signInCountries.down },
  { name: '0220_erasures', up: erasures.up, down: erasures.down },
  { name: '0221_account_hash_keys', up: accountHashKeys.up, down: accountHashKeys.down },
  { name: '0225_complaints', up: complaints.up, down: complaints.down },
  { name: '0230_account_moves', up: accountMoves.up, down: accountMoves.down },
  { name: '0240_provider_days', up: providerDays.up, down: providerDays.down },
  { name: '0250_sms_writers', up: smsWriters.up, down: smsWriters.down },
  { name: '0251_sender_checks', up: senderChecks.up, down: senderChecks.down },
  { name: '0260_whatsapp_numbers', up: whatsAppNumbers.up, down: whatsAppNumbers.down },
  { name: '0261_past_whatsapp_writers', up: pastWhatsAppWriters.up, down: pastWhatsAppWriters.down },
  { name: '0262_limit_numbers', up: limitNumbers.up, down: limitNumbers.down },
  { name: '0270_timeline_of_the_copy', up: timelineOfTheCopy.up, down: timelineOfTheCopy.down },
];
