import { describe, expect, it } from '@jest/globals';
import type { Alert, AlertKind, AlertRule } from '../../src/domain/alerts/alert.ts';
import {
  balanceVerdict,
  carrierVerdict,
  changesOf,
  deliveryVerdict,
  keyVerdict,
  mayBeLow,
  noteDown,
  signInVerdict,
  webhookVerdict,
} from '../../src/domain/alerts/find-alerts.ts';
import type { PublishedStatus } from '../../src/domain/ports/routing.ts';

const NOW = new Date('2026-12-01T12:00:00.000Z');
const ago = (ms: number) => new Date(NOW.getTime() - ms);
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 3_600_000;
const rule = (kind: AlertKind, threshold: number): AlertRule => ({
  kind,
  isEnabled: true,
  threshold,
  mailTo: null,
});
const alert = (kind: AlertKind, cause: string, more: Partial<Alert> = {}): Alert => ({
  id: 'alert',
  accountId: 'account',
  kind,
  cause,
  summary: '',
  detail: {},
  openedAt: NOW,
  resolvedAt: null,
  ...more,
});

describe('the balance (R480, R481)', () => {
  const spend = { accountId: 'account', currency: 'UGX', balanceMinor: 1_000, dayMinor: 0, weekMinor: 0 };
  const three = rule('balance_low', 3);
  const found = (given: object, open?: Alert) => balanceVerdict({ ...spend, ...given }, three, open);

  it('is compared with the last day, or with a day of the last week if that is more (R480)', () => {
    expect(found({ dayMinor: 400 }).found).toHaveLength(1);
    expect(found({ dayMinor: 100, weekMinor: 2_800 }).found).toHaveLength(1);
    expect(found({ dayMinor: 300, weekMinor: 2_100 }).found).toEqual([]);
    expect(found({}).found).toEqual([]);
  });

  it('has recovered when it lasts 1.2 times the threshold (R481)', () => {
    expect(found({ dayMinor: 300 })).toMatchObject({ found: [], kept: [{ cause: 'balance' }] });
    expect(found({ dayMinor: 277 })).toEqual({ found: [], kept: [] });
  });

  it('that is used up stays reported after the last send, until it grows (R481)', () => {
    const open = alert('balance_low', 'balance', { detail: { balance: 10 } });
    expect(found({ balanceMinor: 10 }, open).kept).toHaveLength(1);
    expect(found({ balanceMinor: 11 }, open).kept).toEqual([]);
  });

  it('is told in words of its own for hours', () => {
    const [hours] = found({ dayMinor: 24_000 }).found;
    expect(hours?.summary).toContain('lasts 1 hour at');
    const [less] = found({ dayMinor: 100_000 }).found;
    expect(less?.summary).toContain('lasts less than an hour at');
  });
});

describe('a webhook (R480)', () => {
  const webhook = {
    ...{ accountId: 'account', webhookId: 'hook', url: 'https://a.example/?k=1', isActive: true },
    ...{ disabledReason: null, failingSince: ago(15 * MINUTE_MS) },
  };
  const fifteen = rule('webhook_failing', 15);

  it('is failing from the fifteenth minute on', () => {
    expect(webhookVerdict(webhook, fifteen, NOW).found).toMatchObject([{ cause: 'hook' }]);
    const young = { ...webhook, failingSince: ago(15 * MINUTE_MS - 1) };
    expect(webhookVerdict(young, fifteen, NOW).found).toEqual([]);
  });

  it('that its owner has switched off is no trouble, and one that the gateway has is', () => {
    expect(webhookVerdict({ ...webhook, isActive: false }, fifteen, NOW).found).toEqual([]);
    const off = { ...webhook, isActive: false, disabledReason: 'Every attempt failed.' };
    expect(webhookVerdict(off, fifteen, NOW).found).toMatchObject([{ cause: 'hook' }, { cause: 'hook:off' }]);
  });
});

describe('a delivery rate (R480, R481)', () => {
  const twenty = rule('delivery_rate_low', 20);
  const of = (delivered: number, failed: number) =>
    ({ accountId: 'account', channel: 'sms', delivered, failed }) as const;
  const judged = (hour: ReturnType<typeof of>, usual: ReturnType<typeof of>, open?: Alert) =>
    deliveryVerdict(hour, hour, usual, twenty, open, NOW);

  it('is low at 20 points below the usual one, if both are of enough recipients (R480)', () => {
    expect(judged(of(75, 25), of(950, 50)).found).toHaveLength(1);
    expect(judged(of(76, 24), of(950, 50)).found).toEqual([]);
    expect(judged(of(50, 49), of(950, 50)).found).toEqual([]);
    expect(judged(of(50, 50), of(474, 25)).found).toEqual([]);
    expect(mayBeLow(of(79, 21), twenty)).toBe(true);
    expect(mayBeLow(of(80, 20), twenty)).toBe(false);
  });

  it('that is unknown keeps an alert for a day (R481)', () => {
    const open = (age: number) => alert('delivery_rate_low', 'sms', { openedAt: ago(age) });
    expect(judged(of(1, 0), of(950, 50), open(DAY_MS - 1)).kept).toHaveLength(1);
    expect(judged(of(1, 0), of(950, 50), open(DAY_MS)).kept).toEqual([]);
    expect(judged(of(1, 0), of(950, 50)).kept).toEqual([]);
  });
});

describe('a key (R480)', () => {
  const key = {
    ...{ accountId: 'account', keyId: 'key', name: 'Shop', environment: 'production' as const },
    ...{ createdAt: ago(300 * DAY_MS), expiresAt: new Date(NOW.getTime() + 7 * DAY_MS) },
  } as const;
  it('is about to expire within seven days, unless it was made for so short a time', () => {
    const seven = rule('key_expiring', 7);
    expect(keyVerdict(key, seven, NOW).found).toHaveLength(1);
    expect(keyVerdict({ ...key, createdAt: NOW }, seven, NOW).found).toEqual([]);
    expect(keyVerdict(key, rule('key_expiring', 6), NOW).found).toEqual([]);
  });
});

describe('a carrier (R480, R481)', () => {
  const report = (process: string, state: PublishedStatus['state']) =>
    ({ process, state, channel: 'sms', name: 'smsc', detail: 'refused' }) as PublishedStatus;
  const two = rule('carrier_down', 2);

  it('is down when every process has said so for two minutes', () => {
    const down = [report('a', 'down'), report('b', 'down')];
    const since = noteDown(new Map(), down, ago(2 * MINUTE_MS));
    expect(carrierVerdict(since, down, two, [], NOW).found).toMatchObject([
      { cause: 'sms:smsc', accountId: null },
    ]);
    expect(carrierVerdict(since, down, two, [], ago(1)).found).toEqual([]);
    const oneUp = [report('a', 'down'), report('b', 'up')];
    expect(noteDown(since, oneUp, NOW).size).toBe(0);
    expect(noteDown(new Map(), oneUp, NOW).size).toBe(0);
  });

  it('that starts again is neither up nor newly down', () => {
    const since = noteDown(new Map(), [report('a', 'down')], ago(MINUTE_MS));
    expect(noteDown(since, [report('a', 'starting')], NOW)).toEqual(since);
    expect(noteDown(new Map(), [report('a', 'starting')], NOW).size).toBe(0);
  });

  it('keeps an alert that another process has opened, which has observed it for longer', () => {
    const down = [report('a', 'down')];
    const open = alert('carrier_down', 'sms:smsc', { accountId: null });
    const verdict = carrierVerdict(noteDown(new Map(), down, NOW), down, two, [open], NOW);
    expect(verdict.found).toEqual([]);
    expect(changesOf([open], verdict).ended).toEqual([]);
    expect(changesOf([open], { found: [], kept: [] }).ended).toEqual([open]);
  });

  it('keeps its alert while no process reports, and while it starts, and loses it when nobody uses it (R481)', () => {
    const open = alert('carrier_down', 'sms:smsc', { accountId: null });
    const since = noteDown(new Map(), [report('a', 'down')], ago(MINUTE_MS));
    expect(noteDown(since, [], NOW)).toEqual(since);
    const ended = (reports: readonly PublishedStatus[]) =>
      changesOf([open], carrierVerdict(new Map(), reports, two, [open], NOW)).ended;
    expect(ended([])).toEqual([]);
    expect(ended([report('a', 'starting')])).toEqual([]);
    expect(ended([report('a', 'up')])).toEqual([open]);
    expect(ended([{ ...report('a', 'up'), name: 'another' }])).toEqual([open]);
  });
});

describe('the changes of a look (R481)', () => {
  it('open only what is not open, so that a lasting cause writes nothing', () => {
    const [lasting, over] = [alert('limit_near', 'account:a'), alert('limit_near', 'account:b')];
    const begun = { ...alert('limit_near', 'account:a'), accountId: 'another' };
    expect(changesOf([lasting, over], { found: [lasting, begun], kept: [] })).toEqual({
      begun: [begun],
      ended: [over],
      lasting: [lasting],
    });
  });
});

it('an alert about a sign-in lasts for 7 days (R488)', () => {
  const opened = (openedAt: Date) => alert('sign_in_new_country', 'user:FR', { openedAt });
  const subject = { accountId: 'account', kind: 'sign_in_new_country', cause: 'user:FR' };
  expect(signInVerdict(opened(ago(7 * DAY_MS - 1)), NOW)).toEqual({ found: [], kept: [subject] });
  expect(signInVerdict(opened(ago(7 * DAY_MS)), NOW)).toEqual({ found: [], kept: [] });
});
