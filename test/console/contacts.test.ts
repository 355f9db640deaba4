import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import {
  actionsOf,
  type ConsoleBrowser,
  clickTwiceAtOnce,
  expectAccessible,
  hasFocus,
  holdAnswers,
  inBrowser,
  startConsoleBrowser,
} from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { graphql, inviteMember, signIn } from '../support/graphql.ts';
import { contactsCsv, endOfImport, startImport } from '../support/imports.ts';

const ROWS = 2_000;
const BAD_ROWS = 120;

/** Returns a CSV file whose first `BAD_ROWS` rows have an invalid phone number. */
function partlyBadCsv(): string {
  const [header = '', ...rows] = contactsCsv(ROWS).split('\r\n');
  const spoil = (row: string, index: number) => (index < BAD_ROWS ? row.replace(/\+\d+/, 'no phone') : row);
  return [header, ...rows.map(spoil)].join('\r\n');
}

const fileOf = (csv: string) => ({ name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) });

describe('contacts in the console', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let token: string;
  let browser: ConsoleBrowser;
  let worker: TestGateway | undefined;
  beforeAll(async () => {
    // Only the API runs, without a worker, so imports wait until a test starts the worker.
    gateway = await startTestGateway({ ROLES: 'api' });
    account = await gateway.createAccount();
    token = await signIn(gateway, account);
    browser = await startConsoleBrowser(gateway);
  });
  afterAll(async () => {
    await browser?.close();
    await worker?.stop();
    await gateway?.stop();
  });

  const startWorker = async () => {
    worker ??= await startTestGateway({ ROLES: 'worker' }, gateway.database);
  };
  const contactsOf = async (search: string) => {
    const query = `query ($s: String) { contacts(search: $s) { nodes { name phone tags attributes } } }`;
    return (await graphql(gateway, query, { token, variables: { s: search } })).body.data.contacts.nodes;
  };
  const names = (page: Page) =>
    page
      .getByRole('table')
      .getByRole('link', { name: /^Person/ })
      .allInnerTexts();

  inBrowser(
    'a contact is added, changed, restored and deleted; errors are shown and the input stays',
    async () => {
      const { page, faults } = await browser.open({ person: account, path: '/contacts' });
      await page.getByText('No contacts yet').waitFor();
      await expectAccessible(page);
      await page.getByRole('link', { name: 'Add a contact' }).first().click();
      await page.getByRole('heading', { name: 'New contact' }).waitFor();

      await page.getByLabel('Name', { exact: true }).fill('Amina Nakato');
      await page.getByRole('button', { name: 'Add the contact' }).click();
      await page.getByText('At least one of phone, email and externalId is needed.').waitFor();
      await page.getByLabel('Phone').fill('12');
      await page.keyboard.press('Enter');
      await page.getByText('phone must be a number in E.164 form').waitFor();
      await hasFocus(page, 'phone');
      expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Amina Nakato');
      await page.getByLabel('Phone').fill('0772000001');
      await page.getByLabel('Tags').fill('vip\nnorth');
      await page.getByRole('button', { name: 'Add an attribute' }).click();
      await page.getByLabel('Name of attribute 1').fill('city');
      await page.getByLabel('Value of attribute 1').fill('Gulu');
      await expectAccessible(page);
      const asked = await clickTwiceAtOnce(
        page.getByRole('button', { name: 'Add the contact' }),
        'CreateContact',
      );

      await page.getByRole('heading', { name: 'Amina Nakato', level: 1 }).waitFor();
      const stored = {
        name: 'Amina Nakato',
        phone: '+256772000001',
        tags: ['vip', 'north'],
        attributes: { city: 'Gulu' },
      };
      expect(asked()).toBe(1);
      expect(await contactsOf('Amina')).toEqual([stored]);
      await expectAccessible(page);

      const form = page.getByRole('form', { name: 'Change the contact' });
      await form.getByLabel('Name', { exact: true }).focus();
      await page.keyboard.press('ControlOrMeta+a');
      await page.keyboard.type('Amina Okello');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Amina Okello', level: 1 }).waitFor();
      expect(await contactsOf('Amina')).toEqual([{ ...stored, name: 'Amina Okello' }]);
      await page.getByRole('button', { name: 'Undo' }).click();
      await page.getByRole('heading', { name: 'Amina Nakato', level: 1 }).waitFor();
      await eventually(
        async () => (await form.getByLabel('Name', { exact: true }).inputValue()) === 'Amina Nakato',
      );

      const saving = await holdAnswers(page, 'UpdateContact');
      await form.getByRole('button', { name: 'Save' }).click();
      await saving.held;
      await form.getByLabel('Email').fill('amina@test.example');
      saving.release();
      await page.getByText('Saved.').last().waitFor();
      await form.locator('[aria-busy=true]').waitFor({ state: 'detached' });
      expect(await form.getByLabel('Email').inputValue()).toBe('amina@test.example');

      await page.getByRole('main').getByRole('link', { name: 'vip' }).click();
      await page.getByRole('link', { name: 'Amina Nakato' }).waitFor();
      expect(await page.getByLabel('Tag', { exact: true }).inputValue()).toBe('vip');
      await page.getByLabel('Tag', { exact: true }).fill('south');
      await page.keyboard.press('Enter');
      await page.getByText('Nothing fits').waitFor();
      await page.getByRole('link', { name: 'Show all' }).click();
      await page.getByRole('link', { name: 'Amina Nakato' }).click();

      await page.getByRole('button', { name: 'Delete' }).click();
      const dialog = page.getByRole('dialog', { name: 'Delete Amina Nakato?' });
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      expect(await contactsOf('Amina')).toHaveLength(1);
      await page.getByRole('button', { name: 'Delete' }).click();
      await dialog.getByRole('button', { name: 'Delete for good' }).click();
      await page.getByText('No contacts yet').waitFor();
      expect(await contactsOf('Amina')).toEqual([]);
      expect(faults).toEqual([]);
    },
  );

  inBrowser(
    'undo stays while the pointer or focus is on it, waits for a running save, and reports its failure',
    async () => {
      const { page, faults } = await browser.open({
        person: await gateway.createAccount(),
        path: '/contacts/new',
      });
      await page.getByLabel('Name', { exact: true }).fill('Ruth Atim');
      await page.getByLabel('Phone').fill('0772000333');
      await page.getByRole('button', { name: 'Add the contact' }).click();
      await page.getByRole('heading', { name: 'Ruth Atim', level: 1 }).waitFor();
      await page.clock.install();

      const form = page.getByRole('form', { name: 'Change the contact' });
      const renameTo = async (name: string) => {
        await form.getByLabel('Name', { exact: true }).fill(name);
        await page.keyboard.press('Enter');
      };
      const undo = page.getByRole('button', { name: 'Undo' });
      await renameTo('Ruth Akello');
      await undo.hover();
      await page.clock.fastForward(60_000);
      const saving = await holdAnswers(page, 'UpdateContact');
      await renameTo('Ruth Auma');
      await saving.held;
      await undo.click();
      saving.release();
      await page.getByRole('heading', { name: 'Ruth Atim', level: 1 }).waitFor();

      await undo.focus();
      await page.clock.fastForward(60_000);
      await page.route('**/graphql', (route) =>
        route.fulfill({
          json: { errors: [{ message: 'Not now.', extensions: { code: 'INTERNAL_SERVER_ERROR' } }] },
        }),
      );
      await page.keyboard.press('Enter');
      await page.getByText('This was not undone: Not now.').waitFor();
      await page.mouse.move(0, 0);
      await page.clock.fastForward(60_000);
      await page.getByText('This was not undone: Not now.').waitFor({ state: 'detached' });
      expect(faults).toEqual([]);
    },
  );

  inBrowser('2,000 rows are imported with visible progress; bad rows are shown and downloaded', async () => {
    const { page, faults } = await browser.open({ person: account, path: '/contacts/import' });
    await page.getByLabel('CSV file').setInputFiles(fileOf(partlyBadCsv()));
    const preview = page.getByRole('region', { name: 'How the columns are understood' });
    await preview.getByText('Attribute “city”').waitFor();
    expect(await preview.getByRole('row', { name: /^externalId/ }).innerText()).toMatch(
      /External id\s+ext-0/,
    );
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Import', exact: true }).click();

    await page.getByText('0 of 2,000 rows. You can leave this page; it goes on.').waitFor();
    await page.getByText('Pending').waitFor();
    await expectAccessible(page);
    await startWorker();
    await page.getByText('Ended: 2,000 of 2,000 rows.').waitFor();
    const facts = page.getByRole('region', { name: 'Progress' });
    expect(await facts.innerText()).toMatch(/Added\s+1,880\s+Changed\s+0\s+Failed\s+120/);
    const table = page.getByRole('table');
    await table.getByRole('row').nth(50).waitFor();
    await expectAccessible(page);
    expect(await table.getByRole('row').nth(1).innerText()).toMatch(/^2\s+phone\s+no phone/);
    await page.getByRole('button', { name: 'Next' }).click();
    await table.getByRole('row', { name: /^52/ }).waitFor();

    const downloading = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download as CSV' }).click();
    const report = await readFile(await (await downloading).path(), 'utf8');
    const lines = report
      .replace(/^\uFEFF/, '')
      .trimEnd()
      .split('\r\n');
    expect(lines[0]).toBe('line,column,value,code,message');
    expect(lines).toHaveLength(1 + BAD_ROWS);
    expect(lines.at(-1)).toMatch(/^121,phone,no phone,INVALID_PHONE_NUMBER,/);

    await page.getByRole('link', { name: 'See the contacts' }).click();
    await page.getByText('1,880 in all').waitFor();
    const first = await names(page);
    expect(first).toHaveLength(50);
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByRole('button', { name: 'Previous' }).waitFor();
    await page.getByText(first.at(-1) ?? '', { exact: true }).waitFor({ state: 'detached' });
    expect(first).not.toEqual(expect.arrayContaining(await names(page)));
    await page.goBack();
    await page.getByRole('link', { name: first[0] ?? '', exact: true }).waitFor();
    await page.getByRole('searchbox', { name: 'Search' }).fill('person 1999');
    await page.keyboard.press('Enter');
    // Rows of an import have no fixed order, so Person 1999 may be the first row already. Wait for another row to
    // disappear.
    const other = first.find((name) => name !== 'Person 1999') ?? '';
    await page.getByRole('link', { name: other, exact: true }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Person 1999', exact: true }).waitFor();
    expect(await names(page)).toEqual(['Person 1999']);

    await page.getByRole('link', { name: 'Imports' }).click();
    await page.getByRole('heading', { name: 'Imports of contacts' }).waitFor();
    expect(await page.getByRole('row').nth(1).innerText()).toMatch(/Done\s+2,000\s+1,880\s+0\s+120/);
    await expectAccessible(page);
    expect(faults).toEqual([]);
  });

  inBrowser(
    'a file is dropped, a text pasted; a header without a known column is refused and can be corrected',
    async () => {
      await startWorker();
      const { page, faults } = await browser.open({ person: account, path: '/contacts/import' });
      await page.getByRole('button', { name: 'Import', exact: true }).click();
      await page.getByText('Choose a file or paste its rows first.').waitFor();

      await page.getByLabel('Or paste it').fill('name;tags\nAmina;vip');
      await page.getByText('phone, email or externalId must be one of them').first().waitFor();
      await page.getByRole('button', { name: 'Import', exact: true }).click();
      await page.locator('.field-error').waitFor();
      expect(await page.getByLabel('Or paste it').inputValue()).toContain('Amina;vip');

      // The file is in Latin-1, as a spreadsheet on Windows writes it.
      const bytes = [...Buffer.from('name;phone\nZo\xeb "Z" Namara;0772000777', 'latin1')];
      const transfer = await page.evaluateHandle(`
        const data = new DataTransfer();
        data.items.add(new File([new Uint8Array(${JSON.stringify(bytes)})], 'windows.csv', { type: 'text/csv' }));
        data`);
      await page.locator('.file-drop').dispatchEvent('drop', { dataTransfer: transfer });
      await page.getByText('it was read as Windows-1252').waitFor();
      await page.getByRole('row', { name: /Zoë "Z" Namara/ }).waitFor();
      await page.getByRole('button', { name: 'Import', exact: true }).click();
      await page.getByText('Every row was imported.').waitFor();
      expect(await contactsOf('Zoë')).toMatchObject([{ name: 'Zoë "Z" Namara', phone: '+256772000777' }]);

      // The file is what spreadsheets call "Unicode text": UTF-16 with tabs.
      await page.goto(`${gateway.url}/console/contacts/import`);
      const unicode = Buffer.from('\uFEFFname\tphone\r\nŽofia\t0772000778\r\n', 'utf16le');
      const file = { name: 'unicode.txt', mimeType: 'text/plain', buffer: unicode };
      await page.getByLabel('CSV file').setInputFiles(file);
      await page.getByRole('row', { name: /Žofia/ }).waitFor();
      expect(await page.getByText('Windows-1252').count()).toBe(0);
      const starting = await holdAnswers(page, 'ImportContacts');
      await page.getByRole('button', { name: 'Import', exact: true }).click();
      await starting.held;
      // The first file is still being uploaded. Choosing another file must not make the form look idle.
      await page.getByRole('button', { name: 'Choose another file' }).click();
      await page.getByLabel('CSV file').setInputFiles(fileOf('name,phone\nAnother,0772000779'));
      await page.getByRole('row', { name: /Another/ }).waitFor();
      await page.locator('button[aria-busy=true]', { hasText: 'Import' }).waitFor();
      starting.release();
      await page.getByText('Every row was imported.').waitFor();
      expect(await contactsOf('Žofia')).toMatchObject([{ name: 'Žofia', phone: '+256772000778' }]);
      expect(faults).toEqual([]);
    },
  );

  inBrowser('a viewer reads contacts, imports and devices, and changes none', async () => {
    await startWorker();
    const id = await startImport(gateway, token, 'name,phone\nBen,0772000555\nNobody,none');
    await endOfImport(gateway, token, id);
    const viewer = await inviteMember(gateway, token, 'VIEWER');
    const { page, faults } = await browser.open({ person: viewer, path: '/contacts?search=Ben' });
    await page.getByText('Your role can read contacts, not change them.').waitFor();
    expect(await page.getByRole('link', { name: 'Import CSV' }).count()).toBe(0);
    await page.getByRole('link', { name: 'Ben' }).click();
    await page.getByText('Your role, Viewer, can read this contact, not change it.').waitFor();
    expect(await actionsOf(page)).toEqual([]);
    await page.goto(`${gateway.url}/console/contacts/imports/${id}`);
    await page.getByRole('cell', { name: 'none', exact: true }).waitFor();
    await page.goto(`${gateway.url}/console/contacts/import`);
    await page.getByText('Your role, Viewer, cannot open this page.').waitFor();
    await page.goto(`${gateway.url}/console/devices`);
    await page.getByText('Your role can read devices, not change them.').waitFor();
    expect(faults).toEqual([]);
  });

  inBrowser('a device is registered, shown and removed', async () => {
    const { page, faults } = await browser.open({ person: account, path: '/devices' });
    await page.getByText('No devices yet').waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Register a device' }).click();
    await page.getByLabel('Token').fill('an app token');
    await page.getByLabel('User').fill('user-7');
    await page.getByRole('button', { name: 'Register' }).click();
    await page.getByText('characters of ASCII without spaces').waitFor();
    expect(await page.getByLabel('User').inputValue()).toBe('user-7');
    await page.getByLabel('Platform').selectOption('WEB');
    await page.getByLabel("The subscription's keys").fill('{"p256dh": 1}');
    await page.getByRole('button', { name: 'Register' }).click();
    await page.getByText('must be JSON with p256dh and auth').waitFor();
    await expectAccessible(page);
    await page.getByLabel('Platform').selectOption('ANDROID');
    await page.getByLabel('Token').fill('an-app-token');
    await page.keyboard.press('Enter');
    await page.getByRole('cell', { name: 'an-app-token' }).waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Remove the device of user-7' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByText('No devices yet').waitFor();
    expect(faults).toEqual([]);
  });
});
