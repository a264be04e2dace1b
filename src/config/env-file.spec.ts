import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { badUsage } from '../operator-error.js';
import { readEnvFile } from './env-file.js';

describe('A file of variables', () => {
  let directory: string;
  let file: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
    file = join(directory, 'environment');
  });

  afterEach(() => rmSync(directory, { recursive: true }));

  /** Expects that the third line of the file is wrong. */
  function expectFault(lines: string, fault: string): void {
    writeFileSync(file, `# comment\n\n${lines}\n`, { mode: 0o600 });

    expect(() => readEnvFile(file)).toThrow(badUsage(`${file}, line 3, ${fault}`));
  }

  it.each(['PORT 8080', '8080', 'export', '= 8080', 'a # PORT=8080'])('may not have the line %s', (line) => {
    expectFault(line, 'must be a variable such as PORT=8080, or begin with #');
  });

  it.each(["JWT_AUDIENCE='a", 'HOST= "::1\nPORT=1\nBASE_PATH="/v1"', 'HOST=`::1', 'HOST="::1\u2028'])(
    'may not have a quotation mark that does not close: %j',
    (lines) => {
      expectFault(lines, 'has a value whose quotation mark does not close');
    },
  );

  it('may not have a text behind a closing quotation mark', () => {
    expectFault('ACCESS_TOKENS="one","two"', 'has text behind the closing quotation mark of its value');
  });

  it.each([
    'PORT=0 # any',
    'BASE_PATH=/v#1',
    'REQUIRED_SCOPE=a\\b',
    'HOST=`::1`',
    'BASE_PATH="/v1" # new',
    'export PORT=0',
    '# a\\',
    'BASE_PATH=/v1\rPORT=1',
  ])('that ENV_FILE names may not have a line that systemd reads in another way: %s', (line) => {
    expectFault(
      line,
      'would be read differently by systemd: use no export, no comment after a value, no backslash and no backtick, and put a ' +
        'value with # into quotation marks',
    );
  });

  it('may have blanks in lines that are blank or a comment, and around names', () => {
    const lines = 'KEEP_ALIVE_TIMEOUT=5s\n \t\nBASE_PATH=/v1\r\n \r\n # comment\n\t REQUIRED_SCOPE = plants \n';
    writeFileSync(file, lines, { mode: 0o600 });

    expect(readEnvFile(file)).toEqual({ KEEP_ALIVE_TIMEOUT: '5s', BASE_PATH: '/v1', REQUIRED_SCOPE: 'plants' });
  });

  it('has the same values for systemd', () => {
    writeFileSync(file, `# comment # comment\nHOST="::1"\nBASE_PATH='/v#1'\n JWT_AUDIENCE = a "b" \n`, { mode: 0o600 });

    expect(readEnvFile(file)).toEqual({ HOST: '::1', BASE_PATH: '/v#1', JWT_AUDIENCE: 'a "b"' });
  });
});
