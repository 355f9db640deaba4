import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { examine } from '../../src/cli/doctor.ts';
import { apnsVariables, startApns } from '../support/apns.ts';
import { startFcm } from '../support/fcm.ts';
import { startTestGateway } from '../support/gateway.ts';
import { startMailServer } from '../support/mail-server.ts';
import { startSmsApi } from '../support/sms-api.ts';
import { startSmsc } from '../support/smsc.ts';

interface Row {
  readonly check: string;
  readonly name?: string;
  readonly ok: boolean;
  readonly detail: string;
}

it('doctor asks each provider whether it accepts the credentials, and sends nothing (R348)', async () => {
  await using stack = new AsyncDisposableStack();
  const keep = <T extends { stop(): Promise<unknown> | unknown }>(part: T): T => {
    stack.defer(async () => void (await part.stop()));
    return part;
  };
  const directory = await mkdtemp(join(tmpdir(), 'doctor-'));
  stack.defer(() => rm(directory, { recursive: true }));
  const smsc = keep(await startSmsc());
  const fcm = keep(await startFcm());
  await writeFile(join(directory, 'firebase.json'), fcm.credentials);
  const apns = keep(await startApns());
  const mail = keep(await startMailServer());
  const api = keep(
    await startSmsApi(({ path }) => {
      if (path === '/version1/user?username=shop')
        return { status: 200, body: { UserData: { balance: 'UGX 1785.50' } } };
      if (path.endsWith('/Balance.json'))
        return { status: 401, body: { code: 20003, message: 'Authenticate' } };
      if (path.startsWith('/123?fields='))
        return { status: 200, body: { id: '123', quality_rating: 'GREEN' } };
      return { status: 404, body: {} };
    }),
  );
  await using gateway = await startTestGateway({
    // A worker would connect, too. The doctor does so by itself.
    ROLES: 'api',
    SMS_ROUTES: `256=${smsc.url},254=africastalking://shop:k3y@${api.host},*=twilio://AC1:t0ken@${api.host}`,
    EMAIL_URL: mail.url,
    WHATSAPP_URL: `http://${api.host}`,
    WHATSAPP_PHONE_NUMBER_ID: '123',
    WHATSAPP_TOKEN: 'w4-token',
    FCM_CREDENTIALS: join(directory, 'firebase.json'),
    FCM_URL: fcm.url,
    ...apnsVariables(apns.url),
  });
  apns.behaviour.answer = () => ({ status: 400, reason: 'BadDeviceToken' });
  const rows = async () => {
    const { json } = await examine(gateway.parts, undefined);
    const { checks } = json as { checks: readonly Row[] };
    return checks.filter(({ check }) => check === 'provider');
  };
  const found = await rows();
  const of = (start: string) => found.find(({ name = '' }) => name.startsWith(start));
  expect(of('smpp:')).toMatchObject({ ok: true, detail: 'connected' });
  expect(of('smtp')).toMatchObject({ ok: true, detail: 'connected' });
  expect(of('africastalking:')).toMatchObject({
    ok: true,
    detail: expect.stringMatching(/^the credentials are accepted; UGX 1785.5 left; anybody can send/),
  });
  expect(of('twilio:')).toMatchObject({ ok: false, detail: 'the carrier refuses the credentials (401)' });
  expect(of('fcm')).toMatchObject({ ok: true, detail: expect.stringContaining('only checked') });
  expect(of('apns')).toMatchObject({ ok: true, detail: 'APNs accepts the key and the topic' });
  expect(of('whatsapp')).toMatchObject({ ok: true, detail: expect.stringContaining('its quality is GREEN') });
  expect(JSON.stringify(found)).not.toMatch(/k3y|t0ken|w4-token/);
  expect(smsc.messages()).toEqual([]);
  expect(mail.received).toEqual([]);
  expect(fcm.requests.map(({ message }) => message)).toEqual([
    expect.objectContaining({ topic: 'gateway-doctor' }),
  ]);
  expect(apns.requests.map(({ deviceToken }) => deviceToken)).toEqual(['0'.repeat(64)]);
});
