/** The docs page creates a plant on the public port from a real browser, which has to allow that (CORS). */
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

const directory = ServiceDirectory.ofEachTest();

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
async function create(page: Page, body: string, token: string): Promise<{ status: string; text: string }> {
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
    const { url, management } = await directory.startManaged();
    const browser = await startBrowser(directory.path);
    const page = await browser.newPage();
    // Shorter than Jest's timeout: Playwright's error names the missing element.
    page.setDefaultTimeout(120_000);
    const origins = new Set<string>();
    page.on('request', (request) => {
      if (!request.url().startsWith('data:')) origins.add(new URL(request.url()).origin);
    });
    await page.goto(`${management}/docs`);

    const { status, text } = await create(page, '{"id": 9007199254740993, "name": "Monstera", "tag": "indoor"}', TOKEN);

    expect(status).toBe('200');
    expect(text).toContain('"name": "Monstera"');
    expect(directory.rows()).toEqual([{ id: 9007199254740993n, name: 'Monstera', tag: 'indoor' }]);
    expect([...origins].sort()).toEqual([management, url].sort());
    await browser.close();
  });
});
