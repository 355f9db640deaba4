/** Bounces and complaints as mail servers write them, and a client that sends them. */
import nodemailer from 'nodemailer';

export interface Bounce {
  /** The address that failed. Undefined: the mail server does not name it. */
  readonly address?: string | undefined;
  readonly status?: string;
  readonly action?: string;
  readonly diagnostic?: string | undefined;
  /** Further groups of recipients. */
  readonly more?: readonly string[];
}

/** A delivery status notification (RFC 3464) as Postfix writes it. */
export function bounceMail({
  address = 'ann@example.com',
  status = '5.1.1',
  action = 'failed',
  diagnostic = `smtp; 550 ${status} <${address}>: Recipient address rejected: User unknown in\r\n    local recipient table`,
  more = [],
}: Bounce = {}): string {
  return lines(
    'From: MAILER-DAEMON@mx.example.net (Mail Delivery System)',
    'To: bounce@bounces.example.com',
    'Subject: Undelivered Mail Returned to Sender',
    'Auto-Submitted: auto-replied',
    'MIME-Version: 1.0',
    'Content-Type: multipart/report; report-type=delivery-status;',
    '\tboundary="5D2E11803C.1783500000/mx.example.net"',
    '',
    'This is a MIME-encapsulated message.',
    '',
    '--5D2E11803C.1783500000/mx.example.net',
    'Content-Description: Notification',
    'Content-Type: text/plain; charset=us-ascii',
    '',
    'I am sorry to have to inform you that your message could not be delivered.',
    '',
    '--5D2E11803C.1783500000/mx.example.net',
    'Content-Description: Delivery report',
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; mx.example.net',
    'Arrival-Date: Thu, 26 Nov 2026 12:00:00 +0000 (UTC)',
    '',
    `Final-Recipient: rfc822; ${address}`,
    `Action: ${action}`,
    `Status: ${status}`,
    'Remote-MTA: dns; mail.example.com',
    ...(diagnostic === undefined ? [] : [`Diagnostic-Code: ${diagnostic}`]),
    ...more.flatMap((group) => ['', group]),
    '',
    '--5D2E11803C.1783500000/mx.example.net',
    'Content-Description: Undelivered Message Headers',
    'Content-Type: text/rfc822-headers',
    '',
    'Subject: Your receipt',
    '',
    '--5D2E11803C.1783500000/mx.example.net--',
  );
}

/** An abuse report (RFC 5965). `original` are headers of the mail that the person reported. */
export function complaintMail({
  type = 'abuse',
  original = [],
}: {
  readonly type?: string;
  readonly original?: readonly string[];
} = {}): string {
  return lines(
    'From: feedback@mailbox.example',
    'To: complaints@bounces.example.com',
    'Subject: Report of abuse',
    'MIME-Version: 1.0',
    'Content-Type: multipart/report; report-type=feedback-report; boundary=part13',
    '',
    '--part13',
    'Content-Type: text/plain; charset="US-ASCII"',
    'Content-Transfer-Encoding: 7bit',
    '',
    'This is an email abuse report for an email message received from IP 192.0.2.1.',
    '',
    '--part13',
    'Content-Type: message/feedback-report',
    '',
    `Feedback-Type: ${type}`,
    'User-Agent: SomeGenerator/1.0',
    'Version: 1',
    '',
    '--part13',
    'Content-Type: message/rfc822',
    'Content-Disposition: inline',
    '',
    ...original,
    'Subject: Earn money',
    '',
    'Spam Spam Spam',
    '--part13--',
  );
}

/** The answer of a person's mail program. */
export function vacationMail(): string {
  return lines(
    'From: ann@example.com',
    'Subject: Out of office',
    'Auto-Submitted: auto-replied',
    'Content-Type: text/plain',
    '',
    'Action: failed',
    'Status: 5.1.1',
  );
}

function lines(...all: readonly string[]): string {
  return `${all.join('\r\n')}\r\n`;
}

/** Sends a mail as it is. Resolves with the server's answer, also if it is a refusal. */
export async function returnMail(port: number, to: string | readonly string[], raw: string): Promise<string> {
  const transport = nodemailer.createTransport({ host: '127.0.0.1', port, ignoreTLS: true });
  try {
    const { response } = await transport.sendMail({ envelope: { from: '', to: [to].flat() }, raw });
    return String(response);
  } catch (error) {
    const { response } = error as { response?: string };
    if (response === undefined) throw error;
    return response;
  } finally {
    transport.close();
  }
}
