import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Browser, chromium, type Page } from 'playwright-core';
import { TOKEN } from '../support/client.js';
import { ServiceDirectory } from '../support/service-directory.js';

/** Unpacks Chromium, fonts and the libraries that a minimal system lacks into TMPDIR. */
const UNPACK = `
  const { default: chromium } = await import('@sparticuz/chromium');
  chromium.setGraphicsMode = false;
  await chromium.executablePath();
`;

let browser: Browser;
let directory: ServiceDirectory;
let docs: string;
let publicUrl: string;
let page: Page;
/** The origins to which the page has sent requests. */
let origins: Set<string>;

beforeAll(async () => {
  directory = new ServiceDirectory();
  browser = await startBrowser(directory.path);
  const { url, management } = await directory.startManaged();
  publicUrl = url;
  docs = `${management}/docs`;
});

afterAll(async () => {
  await browser.close();
  await directory.remove();
});

beforeEach(async () => {
  page = await browser.newPage();
  // Shorter than Jest's timeout: Playwright's error names the missing element.
  page.setDefaultTimeout(120_000);
  origins = new Set();
  page.on('request', (request) => {
    if (!request.url().startsWith('data:')) origins.add(new URL(request.url()).origin);
  });
});

afterEach(() => page.close());

/** Starts the headless Chromium of a development dependency, with its files in this directory. */
async function startBrowser(path: string): Promise<Browser> {
  // The package reads the target directory and the need for libraries from the environment.
  await promisify(execFile)(process.execPath, ['--input-type=module', '-e', UNPACK], {
    cwd: import.meta.dirname,
    env: { PATH: process.env.PATH, TMPDIR: path, AWS_LAMBDA_JS_RUNTIME: 'nodejs20.x' },
  });
  // Chromium ends without a font, and the configuration in the package works only in /tmp.
  const fonts = `<fontconfig><dir>${path}/fonts</dir><cachedir>${path}/cache</cachedir></fontconfig>`;
  return chromium.launch({
    executablePath: join(path, 'chromium'),
    env: {
      HOME: path,
      TMPDIR: path,
      LD_LIBRARY_PATH: join(path, 'al2023/lib'),
      FONTCONFIG_FILE: directory.write('fonts.conf', fonts),
    },
    args: ['--disable-gpu'],
  });
}

/** Pastes a token, tries the operation out, and reads the answer, as a person does. */
async function create(body: string, token: string): Promise<{ status: string; text: string }> {
  await page.getByRole('button', { name: 'Authorize' }).click();
  await page.getByLabel('auth-bearer-value').fill(token);
  await page.getByRole('button', { name: 'Apply credentials' }).click();
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByText('Creates a new plant in the store.').click();
  await page.getByRole('button', { name: 'Try it out' }).click();
  await page.locator('.body-param__text').fill(body);
  await page.getByRole('button', { name: 'Execute' }).click();
  const answer = page.locator('.live-responses-table .response');
  return {
    status: (await answer.locator('.response-col_status').innerText()).trim(),
    text: await answer.locator('.response-col_description').innerText(),
  };
}

describe('The docs page, in Chromium', () => {
  it('creates a plant on the public port, with an id that JavaScript would round', async () => {
    await page.goto(docs);

    const { status, text } = await create('{"id": 9007199254740993, "name": "Monstera", "tag": "indoor"}', TOKEN);

    expect(status).toBe('200');
    expect(text).toContain('"name": "Monstera"');
    expect(directory.rows()).toEqual([{ id: 9007199254740993n, name: 'Monstera', tag: 'indoor' }]);
    expect([...origins].sort()).toEqual([new URL(docs).origin, publicUrl].sort());
  });

  it('creates a plant if the listener is on all addresses', async () => {
    const { management } = await directory.startManaged({
      DATABASE_URL: 'sqlite::memory:',
      MANAGEMENT_HOST: '0.0.0.0',
    });
    await page.goto(`http://127.0.0.1:${new URL(management).port}/docs`);

    expect((await create('{"id": 1, "name": "Monstera"}', TOKEN)).status).toBe('200');
  });

  it('shows the answer to an invalid token, and forgets tokens when it is reloaded', async () => {
    await page.goto(docs.replace('127.0.0.1', 'localhost'));

    const { status, text } = await create('{"id": 1, "name": "Ficus"}', 'not-a-token-of-the-tests');

    expect(status).toBe('400');
    expect(text).toContain('"error": 401');
    expect(text).toMatch(/www-authenticate: Bearer .*error="invalid_token"/);
    await page.reload();
    await page.getByRole('button', { name: 'Authorize' }).click();
    expect(await page.getByLabel('auth-bearer-value').inputValue()).toBe('');
  });
});
