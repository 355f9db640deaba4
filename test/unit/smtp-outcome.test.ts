import { describe, expect, it } from '@jest/globals';
import { readFailure, type SmtpError } from '../../src/channels/email/smtp-outcome.ts';

const errorWith = (fields: Partial<SmtpError>) => Object.assign(new Error('as told'), fields) as SmtpError;

describe('what a failed mail says about the server', () => {
  it.each([[new TypeError('text.includes is not a function')], [new RangeError('Invalid array length')]])(
    '%s is a bug of the gateway: the mail waits, and the server is not blamed',
    (error) => {
      expect(readFailure(error, 'ann@example.com')).toEqual({
        outcome: {
          kind: 'unavailable',
          reason: `the mail could not be sent: ${error.message}`,
          onlyThis: true,
        },
        fault: 'program',
      });
    },
  );

  it.each([
    ['a connection that ended', errorWith({ code: 'ECONNECTION' }), 'server'],
    ['an error of nodemailer without a code', errorWith({}), 'server'],
    [
      'a sender that is put off',
      errorWith({ code: 'EENVELOPE', command: 'MAIL FROM', responseCode: 451 }),
      'mail',
    ],
    [
      'a recipient that is put off',
      errorWith({ code: 'EENVELOPE', command: 'RCPT TO', responseCode: 450 }),
      'mail',
    ],
    [
      'a content that is refused',
      errorWith({ code: 'EMESSAGE', command: 'DATA', responseCode: 554 }),
      'mail',
    ],
  ])('%s', (_what, error, fault) => {
    expect(readFailure(error, 'ann@example.com').fault).toBe(fault);
  });
});
