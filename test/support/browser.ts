import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Browser, chromium } from 'playwright-core';

/** Unpacks Chromium, fonts and the libraries that a minimal system lacks into TMPDIR. */
const UNPACK = `
  const { default: chromium } = await import('@sparticuz/chromium');
  chromium.setGraphicsMode = false;
  await chromium.executablePath();
`;

/** Starts the headless Chromium of a development dependency, without its own network requests. */
export async function startBrowser(): Promise<{ readonly browser: Browser; close(): Promise<void> }> {
  const directory = mkdtempSync(join(tmpdir(), 'plant-store-chromium-'));
  try {
    // The package reads the target directory and the need for libraries from the environment.
    await promisify(execFile)(process.execPath, ['--input-type=module', '-e', UNPACK], {
      cwd: import.meta.dirname,
      env: { PATH: process.env.PATH, TMPDIR: directory, AWS_LAMBDA_JS_RUNTIME: 'nodejs20.x' },
    });
    // Chromium ends without a font, and the configuration in the package works only in /tmp.
    const fonts = join(directory, 'fonts.conf');
    writeFileSync(
      fonts,
      `<fontconfig><dir>${directory}/fonts</dir><cachedir>${directory}/cache</cachedir></fontconfig>`,
    );
    const browser = await chromium.launch({
      executablePath: join(directory, 'chromium'),
      env: {
        HOME: directory,
        TMPDIR: directory,
        LD_LIBRARY_PATH: join(directory, 'al2023/lib'),
        FONTCONFIG_FILE: fonts,
      },
      args: [
        '--headless',
        '--no-sandbox',
        '--disable-gpu',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    });
    return {
      browser,
      async close() {
        await browser.close();
        rmSync(directory, { recursive: true });
      },
    };
  } catch (error) {
    rmSync(directory, { recursive: true });
    throw error;
  }
}
