/**
 * Decides the outcome of one mail from the server's answer. Without an answer, decides from the error. A mail is
 * retried after 4xx and not after 5xx (R23).
 */
import { saysAddressUnknown } from '../../domain/messages/address-unknown.ts';
import type { ProviderOutcome } from '../../domain/ports/provider.ts';

/** The members of nodemailer's errors that this file reads. */
export interface SmtpError {
  readonly name: string;
  readonly message: string;
  readonly code?: string | undefined;
  readonly originalCode?: string | undefined;
  /** The three-digit code of the server's answer. Undefined if it did not answer. */
  readonly responseCode?: number | undefined;
  readonly response?: string | undefined;
  /** The SMTP command that the server answered. */
  readonly command?: string | undefined;
  readonly recipient?: string | undefined;
  readonly rejectedErrors?: readonly SmtpError[] | undefined;
}

export interface ReadFailure {
  readonly outcome: Exclude<ProviderOutcome, { kind: 'accepted' }>;
  /**
   * What caused the failure: the server or the connection, this mail, or a bug (`program`). A bug says nothing about
   * the server.
   */
  readonly fault: 'server' | 'mail' | 'program';
}

/**
 * Codes with which the server demands a login or encryption. The mail is retried, because the operator can fix the
 * settings.
 */
const LOGIN_WANTED = [530, 534, 535, 538];
const SERVICE_CLOSING = 421;
const BAD_SEQUENCE = 503;
const ENHANCED_STATUS = /^5\d\d[ -](5\.\d{1,3}\.\d{1,3})(?!\d)/;
const REASON_MAX_LENGTH = 300;
/** nodemailer's codes for errors that happen before any part of a mail is sent. */
const BEFORE_MAIL = ['EAUTH', 'EDNS', 'ETLS', 'ENOAUTH'];
const NO_CONNECTION =
  /^(ECONNREFUSED|ENETUNREACH|EHOSTUNREACH|ENOTFOUND|EAI_AGAIN|ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;
const NO_GREETING = /^(Connection timeout|Greeting never received)/;

/**
 * Returns the outcome of a mail to `to` that ended with `error`. If the server refused several recipients, only its
 * answer about `to` counts.
 */
export function readFailure(error: SmtpError, to: string): ReadFailure {
  const own = error.rejectedErrors?.find((rejected) => rejected.recipient === to) ?? error;
  const isAboutMail = own.code === 'EENVELOPE' || own.code === 'EMESSAGE';
  if (isAboutMail) return readAnswer(own);
  return isProgramFault(own) ? readFault(own) : readBreak(own);
}

function readAnswer(error: SmtpError): ReadFailure {
  const { responseCode } = error;
  const reason = wordsOf(error);
  if (responseCode === undefined) {
    // nodemailer refused the envelope, so no server could accept it.
    return { outcome: { kind: 'rejected', asked: false, code: 'invalid_envelope', reason }, fault: 'mail' };
  }
  const isFinal =
    responseCode >= 500 && responseCode !== BAD_SEQUENCE && !LOGIN_WANTED.includes(responseCode);
  if (isFinal) {
    const known = isAddressUnknown(error) ? { addressUnknown: true as const } : {};
    return {
      outcome: { kind: 'rejected', asked: true, code: String(responseCode), reason, ...known },
      fault: 'mail',
    };
  }
  // A temporary refusal of the sender counts as a fault of the mail, and not of the server. Customers choose the
  // senders, and one customer's sender must not stop the mails of others.
  const isServerFault = responseCode >= 500 || responseCode === SERVICE_CLOSING;
  const unavailable = { kind: 'unavailable', asked: true, reason, definitelyNotSent: true } as const;
  return isServerFault
    ? { outcome: unavailable, fault: 'server' }
    : { outcome: { ...unavailable, onlyThis: true }, fault: 'mail' };
}

/**
 * True if the server says about this recipient, in its answer to RCPT, that the address does not exist. An answer to
 * DATA is about all recipients of the mail. A 550 without an enhanced status code may be a policy, as 5.7.x is.
 */
function isAddressUnknown({ command, response }: SmtpError): boolean {
  const status = ENHANCED_STATUS.exec(response ?? '')?.[1];
  return command === 'RCPT TO' && status !== undefined && saysAddressUnknown(status);
}

/**
 * True for JavaScript errors, which are bugs. Errors of the server and the connection, and timeouts, have other names.
 */
function isProgramFault({ name }: SmtpError): boolean {
  return /^(Type|Range|Reference|Syntax)Error$/.test(name);
}

function readFault(error: SmtpError): ReadFailure {
  const reason = `the mail could not be sent: ${wordsOf(error)}`;
  return { outcome: { kind: 'unavailable', asked: false, reason, onlyThis: true }, fault: 'program' };
}

function readBreak(error: SmtpError): ReadFailure {
  const { code = '', originalCode = '' } = error;
  const isBeforeMail =
    BEFORE_MAIL.includes(code) ||
    NO_CONNECTION.test(originalCode || code) ||
    NO_GREETING.test(error.message) ||
    error.responseCode !== undefined;
  const what = code === 'EAUTH' ? 'the mail server refuses the login' : 'the mail server cannot be used';
  const reason = `${what}: ${wordsOf(error)}`;
  const unknown = `${reason}; it is unknown whether it accepted the mail`;
  return {
    outcome: isBeforeMail
      ? { kind: 'unavailable', asked: true, reason, definitelyNotSent: true }
      : { kind: 'unavailable', asked: true, reason: unknown },
    fault: 'server',
  };
}

/** Returns the server's text in one line, or nodemailer's text if the server sent none. */
function wordsOf(error: SmtpError): string {
  const words = (error.response || error.message).replace(/\s+/g, ' ').trim();
  return words.length > REASON_MAX_LENGTH ? `${words.slice(0, REASON_MAX_LENGTH)}…` : words;
}
