import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Browser, chromium } from 'playwright-core';

/** Unpacks Chromium, fonts, and the libraries that a bare machine lacks, into the directory for temporary files. */
const UNPACK = `
  const { default: chromium } = await import('@sparticuz/chromium');
  chromium.setGraphicsMode = false;
  await chromium.executablePath();
`;

/** A real Chromium without a window, which the tests bring themselves; it asks nobody for anything by itself. */
export async function startBrowser(): Promise<{ readonly browser: Browser; close(): Promise<void> }> {
  const directory = mkdtempSync(join(tmpdir(), 'plant-store-chromium-'));
  try {
    // The package takes from the environment where to, and whether the libraries are wanted.
    await promisify(execFile)(process.execPath, ['--input-type=module', '-e', UNPACK], {
      cwd: import.meta.dirname,
      env: { PATH: process.env.PATH, TMPDIR: directory, AWS_LAMBDA_JS_RUNTIME: 'nodejs20.x' },
    });
    // The package's own knows no other place than /tmp, and without a font Chromium ends.
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
