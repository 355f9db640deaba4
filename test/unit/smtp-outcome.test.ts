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
          asked: false,
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

  it('an envelope that nodemailer refuses says nothing about the server, which was not asked (R588)', () => {
    const error = { name: 'Error', message: 'No recipients defined', code: 'EENVELOPE' };
    expect(readFailure(error, 'ann@example.com').outcome).toEqual({
      kind: 'rejected',
      asked: false,
      code: 'invalid_envelope',
      reason: 'No recipients defined',
    });
    const answered = { ...error, message: 'no', responseCode: 550 };
    expect(readFailure(answered, 'ann@example.com').outcome).toMatchObject({ kind: 'rejected', asked: true });
  });
});
