import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readBrandLogo } from '../../src/config/brand-logo.ts';
import { ConfigError } from '../../src/config/config.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { graphql, signIn } from '../support/graphql.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';

const SVG = '<svg xmlns="http://www.w3.org/2000/svg"><script>top.isRun = true</script></svg>';
const PNG = Buffer.from('89504e470d0a1a0a', 'hex');

describe('the brand of the operator (R461)', () => {
  let folder: string;
  let gateway: TestGateway;
  let mails: MailServer;
  const fileOf = async (name: string, content: string | Buffer) => {
    const path = join(folder, name);
    await writeFile(path, content);
    return path;
  };
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'brand-'));
    mails = await startMailServer();
    gateway = await startTestGateway({
      BRAND_NAME: 'Tom & "Ada" <b>',
      BRAND_LOGO: await fileOf('logo.svg', SVG),
      BRAND_ACCENT: '7A1FA2',
      EMAIL_URL: mails.url,
    });
  });
  afterAll(async () => {
    await gateway?.stop();
    await mails?.stop();
    await rm(folder, { recursive: true });
  });
  const get = (path: string) => fetch(`${gateway.url}${path}`);

  it('is in the page, as text', async () => {
    const response = await get('/console/messages');
    expect(response.headers.get('content-security-policy')).toContain("script-src 'self'; style-src 'self'");
    expect(response.headers.get('cache-control')).toBe('no-cache');
    const html = await response.text();
    expect(html).toContain('<title>Tom &amp; &quot;Ada&quot; &lt;b&gt;</title>');
    expect(html).toContain('<meta name="brand-name" content="Tom &amp; &quot;Ada&quot; &lt;b&gt;">');
    const [logo, styles] = [
      /<meta name="brand-logo" content="([^"]+)">/.exec(html)?.[1],
      /<link rel="stylesheet" href="([^"]+accent[^"]+)">/.exec(html)?.[1],
    ];
    expect(html).toContain(`<link rel="icon" href="${logo}">`);
    const sent = await get(logo!);
    expect(sent.headers.get('content-type')).toMatch(/^image\/svg\+xml/);
    expect(sent.headers.get('content-security-policy')).toMatch(/^default-src 'none';.* sandbox$/);
    expect(sent.headers.get('x-content-type-options')).toBe('nosniff');
    expect(await sent.text()).toBe(SVG);
    const css = await get(styles!);
    expect(css.headers.get('content-type')).toMatch(/^text\/css/);
    expect(await css.text()).toContain('--accent: light-dark(#7a1fa2, ');
    // In a rolling update, a page of one process may ask another for its version of a file.
    for (const [path, caching] of [
      [logo!, 'public, max-age=31536000, immutable'],
      [styles!, 'public, max-age=31536000, immutable'],
      ['/console/brand/logo?v=another', 'no-store'],
      ['/console/brand/accent.css', 'no-store'],
    ] as const) {
      expect((await get(path)).headers.get('cache-control')).toBe(caching);
    }
  });

  it('names the product in mails to people and in authenticator apps', async () => {
    const account = await gateway.createAccount();
    const token = await signIn(gateway, account);
    const invite = 'mutation { inviteMember(email: "ada@test.example", role: VIEWER) { mailed } }';
    await graphql(gateway, invite, { token });
    const mail = await eventually(() => mails.received.find(({ to }) => to.includes('ada@test.example')));
    expect(mail.header('Subject')).toBe('Your invitation to Tom & "Ada" <b>');
    const { uri } = (await graphql(gateway, 'mutation { startTotp { uri } }', { token })).body.data.startTotp;
    expect(new URL(uri).searchParams.get('issuer')).toBe('Tom & "Ada" <b>');
  });

  it('is not there by default', async () => {
    await using plain = await startTestGateway();
    const html = await (await fetch(`${plain.url}/console`)).text();
    expect(html).toContain('<title>Messaging gateway</title>');
    expect(html).not.toContain('brand');
  });

  it.each([
    ['a missing file', undefined, 'no such file'],
    ['a file that is too large', Buffer.concat([PNG, Buffer.alloc(65_536)]), 'at most 65536 are allowed'],
    ['another format', 'GIF89a', 'it must be an SVG or a PNG file'],
    ['comments alone', '<!-- A line -->\n'.repeat(4_000), 'it must be an SVG or a PNG file'],
    ['a page', '<html><svg></svg></html>', 'it must be an SVG or a PNG file'],
  ])('a logo that is %s stops the start', async (name, content, message) => {
    const path = content === undefined ? join(folder, 'none.svg') : await fileOf(name, content);
    expect(() => readBrandLogo(path)).toThrow(ConfigError);
    expect(() => readBrandLogo(path)).toThrow(`BRAND_LOGO cannot be used: ${path}: `);
    expect(() => readBrandLogo(path)).toThrow(message);
  });

  it.each([
    ['logo.png', Buffer.concat([PNG, Buffer.alloc(65_528)]), 'image/png'],
    ['plain.svg', '<svg/>', 'image/svg+xml'],
    ['explained.svg', `${'<!-- A line -->\n'.repeat(4_000)}<svg></svg>`, 'image/svg+xml'],
    ['drawn.svg', '\uFEFF<?xml version="1.0"?>\n<!-- Drawn -->\n<!DOCTYPE svg>\n<svg\n/>', 'image/svg+xml'],
  ])('%s may be a logo', async (name, content, type) => {
    expect(readBrandLogo(await fileOf(name, content))?.type).toBe(type);
  });
});
