/** What a mail server's answers, and its silence, mean for one mail (R23: 4xx again, 5xx never). */
import type { SubmitOutcome } from '../../domain/ports/provider.ts';

/** The errors of nodemailer, as far as they are looked at. */
export interface SmtpError {
  readonly name: string;
  readonly message: string;
  readonly code?: string | undefined;
  readonly originalCode?: string | undefined;
  /** The three digits of the server's answer, when there was one. */
  readonly responseCode?: number | undefined;
  readonly response?: string | undefined;
  /** The command that was answered. */
  readonly command?: string | undefined;
  readonly recipient?: string | undefined;
  readonly rejectedErrors?: readonly SmtpError[] | undefined;
}

export interface ReadFailure {
  readonly outcome: Exclude<SubmitOutcome, { kind: 'accepted' }>;
  /** What is in trouble: the server or the way to it, this mail, or the program, which says nothing of the server. */
  readonly fault: 'server' | 'mail' | 'program';
}

/** Answers that ask us to log in or to encrypt: the operator's affair, so the mail waits for it. */
const LOGIN_WANTED = [530, 534, 535, 538];
const SERVICE_CLOSING = 421;
const BAD_SEQUENCE = 503;
const REASON_MAX_LENGTH = 300;
/** Errors that come before the first byte of a mail. */
const BEFORE_MAIL = ['EAUTH', 'EDNS', 'ETLS', 'ENOAUTH'];
const NO_CONNECTION =
  /^(ECONNREFUSED|ENETUNREACH|EHOSTUNREACH|ENOTFOUND|EAI_AGAIN|ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;
const NO_GREETING = /^(Connection timeout|Greeting never received)/;

/** Reads the error with which a mail to `to` ended; of several recipients' answers `to`'s own counts. */
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
    // The client itself saw that no server could take it.
    return { outcome: { kind: 'rejected', code: 'invalid_envelope', reason }, fault: 'mail' };
  }
  const isFinal =
    responseCode >= 500 && responseCode !== BAD_SEQUENCE && !LOGIN_WANTED.includes(responseCode);
  if (isFinal) return { outcome: { kind: 'rejected', code: String(responseCode), reason }, fault: 'mail' };
  // Senders that are put off are not: who sends chooses them, and must not stop the mail of others.
  const isServerFault = responseCode >= 500 || responseCode === SERVICE_CLOSING;
  const unavailable = { kind: 'unavailable', reason, definitelyNotSent: true } as const;
  return isServerFault
    ? { outcome: unavailable, fault: 'server' }
    : { outcome: { ...unavailable, onlyThis: true }, fault: 'mail' };
}

/** The server, the connection and the wait for them make errors of other kinds, not all of them with a code. */
function isProgramFault({ name }: SmtpError): boolean {
  return /^(Type|Range|Reference|Syntax)Error$/.test(name);
}

function readFault(error: SmtpError): ReadFailure {
  const reason = `the mail could not be sent: ${wordsOf(error)}`;
  return { outcome: { kind: 'unavailable', reason, onlyThis: true }, fault: 'program' };
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
  const unknown = `${reason}; whether it took the mail is unknown`;
  return {
    outcome: isBeforeMail
      ? { kind: 'unavailable', reason, definitelyNotSent: true }
      : { kind: 'unavailable', reason: unknown },
    fault: 'server',
  };
}

/** The server's words, else the client's, in one line. */
function wordsOf(error: SmtpError): string {
  const words = (error.response || error.message).replace(/\s+/g, ' ').trim();
  return words.length > REASON_MAX_LENGTH ? `${words.slice(0, REASON_MAX_LENGTH)}…` : words;
}
