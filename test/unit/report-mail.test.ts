import { describe, expect, it } from '@jest/globals';
import { readReport } from '../../src/channels/email/report-mail.ts';
import { bounceMail, complaintMail, vacationMail } from '../support/report-mails.ts';

const lines = (...all: readonly string[]) => all.join('\r\n');
const report = (status: readonly string[], head: readonly string[] = []) =>
  lines(
    'Content-Type: multipart/report; boundary=b',
    '',
    '--b',
    'Content-Type: message/delivery-status',
    ...head,
    '',
    ...status,
    '--b--',
  );
const failure = (...more: readonly string[]) => ['Reporting-MTA: dns; mx', '', 'Action: failed', ...more];

describe('bounces are read (R497)', () => {
  it('from a notification as Postfix writes it', () => {
    expect(readReport(bounceMail({ address: 'ann@example.com' }))).toEqual({
      kind: 'bounce',
      status: '5.1.1',
      words: '550 5.1.1 <ann@example.com>: Recipient address rejected: User unknown in local recipient table',
      address: 'ann@example.com',
    });
  });

  it('with line ends of one character, and cut after the report', () => {
    const raw = bounceMail({ address: 'ann@example.com' });
    const cut = raw.slice(0, raw.indexOf('--5D2E', raw.indexOf('Diagnostic-Code')));
    for (const each of [raw.replaceAll('\r\n', '\n'), cut])
      expect(readReport(each)).toMatchObject({ status: '5.1.1', address: 'ann@example.com' });
  });

  it('with the status in the words of the server, where the field says nothing', () => {
    const of = (...fields: readonly string[]) => readReport(report(failure(...fields)));
    expect(of('Status: 5.0.0', 'Diagnostic-Code: smtp; 550 5.1.10 null MX')).toMatchObject({
      status: '5.1.10',
    });
    expect(of('Status: 5.0.0', 'Diagnostic-Code: smtp; 550-5.1.1 No such user')).toMatchObject({
      status: '5.1.1',
    });
    expect(of('Status: 5.2.2', 'Diagnostic-Code: smtp; 550 5.1.1 odd')).toMatchObject({ status: '5.2.2' });
    expect(of('Status: 5.0.0', 'Diagnostic-Code: smtp; rejected: see 5.1.1')).toMatchObject({
      status: '5.0.0',
    });
    expect(of('Status: nonsense')).toMatchObject({ status: '5.0.0', words: undefined, address: undefined });
    expect(of('Status: 5.1.1111')).toMatchObject({ status: '5.0.0' });
  });

  it('in base64 and quoted-printable, and in an international notification', () => {
    const fields = failure('Status: 5.1.1', 'Final-Recipient: rfc822; <ann@example.com>');
    const encoded = Buffer.from(lines(...fields)).toString('base64');
    const inBase64 = [encoded.slice(0, 60), encoded.slice(60)];
    const quoted = fields.map((line) =>
      line.replaceAll('=', '=3D').replace('example', 'exam=\r\nple=2E').replace('=2E.', '=2E'),
    );
    expect(readReport(report(inBase64, ['Content-Transfer-Encoding: base64']))).toMatchObject({
      address: 'ann@example.com',
    });
    expect(readReport(report(quoted, ['Content-Transfer-Encoding: Quoted-Printable']))).toMatchObject({
      address: 'ann@example.com',
    });
    const global = bounceMail().replace('message/delivery-status', 'message/global-delivery-status');
    expect(readReport(global)).toMatchObject({ status: '5.1.1' });
  });

  it('inside another mail', () => {
    const wrapped = lines(
      'Content-Type: multipart/mixed; charset=utf-8; boundary="outer part"',
      '',
      '--outer part',
      bounceMail(),
      '--outer part--',
    );
    expect(readReport(wrapped)).toMatchObject({ status: '5.1.1' });
  });

  it.each([
    ['a delay', bounceMail({ action: 'delayed' })],
    ['a success', bounceMail({ action: 'delivered' })],
    [
      'a list of which some have the mail',
      bounceMail({ more: ['Final-Recipient: rfc822; b@x.org\r\nAction: relayed'] }),
    ],
    ['an action that begins alike', bounceMail({ action: 'failed-over' })],
    ['an automatic reply', vacationMail()],
    ['a report without recipients', report(['Reporting-MTA: dns; mx'])],
    ['a text that quotes a report', bounceMail().replace('message/delivery-status', 'text/plain')],
    ['no mail', ''],
    ['a head only', 'Content-Type: multipart/report; boundary=b'],
  ])('and %s is none', (_, raw) => {
    expect(readReport(raw)).toBeUndefined();
  });
});

describe('complaints are read (R498)', () => {
  it('of the type abuse only', () => {
    expect(readReport(complaintMail())).toEqual({ kind: 'complaint' });
    expect(readReport(complaintMail({ type: 'Abuse' }))).toEqual({ kind: 'complaint' });
    for (const type of ['not-spam', 'auth-failure', 'opt-out', 'abuser', ''])
      expect(readReport(complaintMail({ type }))).toBeUndefined();
  });
});

describe('hostile mails end in time, and in no report (R499)', () => {
  const MIB = 2 ** 20;
  const fill = (text: string) => text.repeat(Math.ceil(MIB / text.length)).slice(0, MIB);
  const nested = Array.from({ length: 20_000 }, (_, n) =>
    lines(`Content-Type: multipart/mixed; boundary=b${n}`, '', `--b${n}`),
  ).join('\r\n');
  const head = 'Content-Type: multipart/report; boundary=b';
  it.each([
    ['parts in parts', nested],
    ['parts with one boundary', fill(`${head}\r\n\r\n--b\r\n`)],
    ['many parts', `${head}\r\n\r\n${fill('--b\r\n\r\n')}`],
    ['many fields', fill('X: y\r\n')],
    ['one field of many lines', `X: y\r\n${fill(' y\r\n')}`],
    ['a long field', `Content-Type: ${fill('; boundary ')}`],
    ['a field of semicolons and spaces', `Content-Type: multipart/x${fill(';      ')}`],
    ['empty lines', fill('\r\n')],
    ['returns without line feeds', fill('\r')],
    ['colons', fill(':')],
    ['groups', report([fill('a: b\r\n\r\n')])],
    [
      'words of spaces',
      report(failure(`Diagnostic-Code: smtp;${fill(' ')}`, 'Action: delayed')).replace('failed', 'delayed'),
    ],
    ['digits', report([`Action: ${fill('5.')}`, `Status: ${fill('5.1.')}`])],
    ['quoted-printable', report([fill('=\r\n=3D')], ['Content-Transfer-Encoding: quoted-printable'])],
    ['what is no base64', report([fill('!')], ['Content-Transfer-Encoding: base64'])],
  ])('%s', (_, raw) => {
    expect(readReport(raw)).toBeUndefined();
  });

  it('texts from a bounce are cut', () => {
    const long = report(
      failure(
        'Status: 5.1.1',
        `Diagnostic-Code: smtp; ${fill('x')}`,
        `Final-Recipient: rfc822; ${fill('x')}`,
      ),
    );
    const found = readReport(long);
    expect(found).toMatchObject({ kind: 'bounce', status: '5.1.1' });
    expect(JSON.stringify(found).length).toBeLessThan(5_000);
  });
});
