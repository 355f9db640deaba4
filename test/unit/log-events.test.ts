import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import type { Logger } from '../../src/domain/ports/logger.ts';
import { withinRequest } from '../../src/runtime/request-scope.ts';
import { MessageLog } from '../../src/start/message-log.ts';
import { logEvents } from '../support/log-events.ts';

it('docs/operations/logs.md lists each line that the source can log, at its level (R347)', () => {
  const sections = readFileSync('docs/operations/logs.md', 'utf8').split(/^## /m).slice(1);
  const listed = sections.flatMap((section) => {
    const level = section.split('\n')[0]!.toLowerCase();
    return [...section.matchAll(/^\| (?!line \|)(.+?) \|/gm)].map(([, message]) => `${level}: ${message}`);
  });
  const logged = new Set(logEvents().map(({ level, message }) => `${level}: ${message}`));
  expect(logged.size).toBeGreaterThan(80);
  expect(listed.toSorted()).toEqual([...logged].toSorted());
});

it('each step of a message is a line with its id, and the accepted one has the id of the request (R347)', () => {
  const lines: object[] = [];
  const logger = {
    debug: (fields: object, msg: string) => lines.push({ msg, ...fields }),
  } as unknown as Logger;
  const log = new MessageLog(logger);
  const [messageId, at] = ['m1', new Date()];
  const message = {
    id: messageId,
    channel: 'sms',
    environment: 'production',
    recipients: [{}, {}],
    createdAt: at,
  } as const;
  withinRequest({ requestId: 'r1', traceparent: undefined, arrivedAt: at }, () => log.accepted(message));
  const submission = { messageId, position: 1, attempt: 0 };
  log.submitted({ provider: 'p', submission, outcome: { kind: 'accepted', sid: 's' }, seconds: 0.25 });
  const move = {
    messageId,
    position: 1,
    at,
    channel: 'sms',
    provider: 'p',
    reason: null,
    reportSeconds: null,
  } as const;
  log.moved([{ ...move, status: 'sent' }]);
  log.attempted({ messageId, deliveryId: 'd1', attemptsBefore: 2, result: '5xx', seconds: 0.1 });
  expect(lines).toEqual([
    {
      msg: 'message accepted',
      messageId,
      requestId: 'r1',
      channel: 'sms',
      environment: 'production',
      recipients: 2,
    },
    { msg: 'recipient submitted', ...submission, provider: 'p', outcome: 'accepted', durationMs: 250 },
    {
      msg: 'recipient changed its status',
      messageId,
      position: 1,
      provider: 'p',
      status: 'sent',
      reason: null,
    },
    { msg: 'webhook attempted', messageId, deliveryId: 'd1', attempt: 2, result: '5xx', durationMs: 100 },
  ]);
});
