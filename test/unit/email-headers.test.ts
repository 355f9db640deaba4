import { describe, expect, it } from '@jest/globals';
import { checkEmailHeader } from '../../src/domain/messages/email-headers.ts';

describe('headers of an email that a caller sets (R23)', () => {
  it.each([
    'X-MS-Exchange-Organization-SCL',
    'X-MS-Exchange-Organization-AuthAs',
    'X-Microsoft-Antispam',
    'X-Forefront-Antispam-Report',
    'X-Exchange-Antispam-Report-Test',
    'X-EOPAttributedMessage',
    'X-Spam-Status',
    'X-Spam-Flag',
    'X-Spamd-Result',
    'X-Rspamd-Score',
    'X-SA-Exim-Scanned',
    'X-Virus-Scanned',
    'X-Amavis-Alert',
    'X-Example-MailScanner-SpamCheck',
    'X-Barracuda-Spam-Score',
    'X-Proofpoint-Spam-Details',
    'X-Mimecast-Spam-Score',
    'X-IronPort-Anti-Spam-Result',
    'X-Authentication-Warning',
    'X-Authentication-Results',
    'X-Received',
    'X-Received-SPF',
    'X-Google-DKIM-Signature',
    'X-Gm-Message-State',
    'X-Delivered-To',
    'X-Originating-IP',
    'X-DKIM',
    'X-ARC-Seal',
    'x-spam-flag',
    'Authentication-Results',
    'ARC-Seal',
    'ARC-Message-Signature',
    'ARC-Authentication-Results',
    'Received',
    'Received-SPF',
    'Return-Path',
    'DKIM-Signature',
    'DomainKey-Signature',
    'Delivered-To',
    'Envelope-To',
  ])('%s is reserved for mail servers', (name) =>
    expect(checkEmailHeader(name, 'NO')).toBe(
      'cannot be set: mail servers write it, to say what they found out about a mail',
    ),
  );

  it.each([
    'Bcc',
    'Resent-To',
    'Resent-Bcc',
    'Sender',
    'Errors-To',
    'Disposition-Notification-To',
    'Message-ID',
  ])('%s is reserved for the gateway', (name) =>
    expect(checkEmailHeader(name, 'a@b.example')).toMatch(/^cannot be set/),
  );

  it.each([
    'X-Order-Id',
    'X-Campaign',
    'X-Priority',
    'X-MSMail-Priority',
    'X-Mailer',
    'X-Entity-Ref-ID',
    'X-Auto-Response-Suppress',
    'X-Source',
    'X-Client-Id',
    'X-Auth-Id',
    'In-Reply-To',
    'References',
    'Importance',
    'Feedback-ID',
  ])('%s may be set', (name) => expect(checkEmailHeader(name, 'one')).toBeUndefined());
});
