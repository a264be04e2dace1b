import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { parseTokens } from '../../src/auth/token-file.js';
import { parseConfiguration } from '../../src/config/configuration.js';
import { ERROR_TABLE } from '../../src/contract/error-table.js';
import { TOKEN } from '../support/client.js';
import { type Service, startService } from '../support/service.js';
import { ServiceDirectory } from '../support/service-directory.js';
import { variableNames } from '../support/variable-names.js';

const ROOT = join(import.meta.dirname, '../..');
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');

/** Returns the text from a heading to the next one. */
function section(heading: string): string {
  const text = README.split(/^## /m).find((candidate) => candidate.startsWith(`${heading}\n`));
  if (text === undefined) throw new Error(`The README has no section "${heading}"`);
  return text;
}

/** Returns the rows of the section's table, without the header and without backticks. */
function tableIn(heading: string): string[][] {
  const [, , ...rows] = section(heading)
    .split('\n')
    .filter((line) => line.startsWith('|'));
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replace(/^`(.*)`$/, '$1')),
  );
}

/** Returns the first code block of this language in the section. */
function blockIn(heading: string, language: string): string {
  const [, block] = new RegExp(`^\`\`\`${language}\n([^]*?)\n\`\`\`$`, 'm').exec(section(heading)) ?? [];
  if (block === undefined) throw new Error(`The section "${heading}" has no ${language}`);
  return block;
}

describe("The README's error table", () => {
  it('has the numbers and texts of the error table', () => {
    const documented = tableIn('When it fails').map(([error, when]) => [error, when]);

    expect(documented).toEqual(Object.entries(ERROR_TABLE).map(([error, { when }]) => [error, when]));
  });

  it('has a remedy for each error', () => {
    for (const [, , remedy] of tableIn('When it fails')) expect(remedy).toMatch(/\w/);
  });
});

describe("The README's configuration table", () => {
  const documented = tableIn('Configuration');
  const defaults = parseConfiguration({});

  it('has exactly the variables that the service reads', () => {
    expect(documented.map(([name]) => name).sort()).toEqual(variableNames().sort());
  });

  it.each(documented.filter(([, value]) => value !== 'none'))('has the default of %s, %s', (name = '', value = '') => {
    expect(parseConfiguration({ [name]: value })).toEqual(defaults);
  });

  it.each(documented.filter(([, value]) => value === 'none'))('has no default for %s', (name = '') => {
    const property = name.toLowerCase().replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

    // A variable that names a file with a secret has no property of its own.
    expect(property in defaults).toBe(!name.endsWith('DATABASE_URL_FILE'));
    expect(Object.entries(defaults).find(([key]) => key === property)?.[1] ?? '').toHaveLength(0);
  });

  it('has a meaning for each variable', () => {
    for (const [, , meaning] of documented) expect(meaning).toMatch(/\w/);
  });
});

describe('.env.example', () => {
  const example = readFileSync(join(ROOT, '.env.example'), 'utf8');

  it('has exactly the variables that the service reads', () => {
    const names = [...example.matchAll(/^#([A-Z_]+)=/gm)].map(([, name]) => name);

    expect(names.sort()).toEqual(variableNames().sort());
  });

  it('has their defaults', () => {
    expect(parseConfiguration(parseEnv(example.replace(/^#(?=\w)/gm, '')))).toEqual(parseConfiguration({}));
  });

  it('changes nothing as it is', () => {
    expect(parseEnv(example)).toEqual({});
  });
});

describe("The README's examples", () => {
  let service: Service;

  beforeEach(async () => {
    service = await startService();
  });

  afterEach(() => service.close());

  function post(headers: [string, string][], body: string): Promise<Response> {
    return fetch(`${service.url}/plants`, { method: 'POST', headers, body });
  }

  /** Formats an answer as the README does: the status line, the media type and the body. */
  async function format(response: Response): Promise<string> {
    const type = response.headers.get('content-type') ?? 'none';
    return `HTTP/1.1 ${response.status} ${response.statusText}\nContent-Type: ${type}\n\n${await response.text()}`;
  }

  it('create a plant with curl, and then cause a conflict', async () => {
    const curl = blockIn('Create a plant', 'sh');
    const { host, port, basePath } = parseConfiguration({});
    const headers = [...curl.matchAll(/-H '([\w-]+): ([^']+)'/g)].map(([, name = '', value = '']): [string, string] => [
      name,
      value.replace('<ACCESS_TOKEN>', TOKEN),
    ]);
    const [, body = ''] = /-d '([^']+)'/.exec(curl) ?? [];

    expect(curl).toMatch(`curl -i http://${host}:${port}${basePath}/plants \\\n`);
    expect(await format(await post(headers, body))).toBe(blockIn('Create a plant', 'http'));
    expect(await service.rows()).toEqual([{ id: 1n, name: 'Monstera', tag: 'indoor' }]);
    expect(await format(await post(headers, body.replace('indoor', 'outdoor')))).toBe(blockIn('When it fails', 'http'));
  });

  it('get the documented answers, in this order', async () => {
    const examples = tableIn('What a client must know');
    const answers: string[][] = [];
    for (const [body = ''] of examples) {
      const response = await post(
        [
          ['Authorization', `Bearer ${TOKEN}`],
          ['Content-Type', 'application/json'],
        ],
        body,
      );
      answers.push([body, `${response.status}`, await response.text()]);
    }

    expect(answers).toEqual(examples);
    expect((await service.rows()).map(({ id }) => id)).toEqual([7n, 9007199254740992n, 9007199254740993n]);
  });
});

describe("The README's tokens", () => {
  let directory: ServiceDirectory;

  beforeEach(() => {
    directory = new ServiceDirectory();
  });

  afterEach(() => directory.remove());

  it('are created, listed and revoked by its commands', () => {
    const variables = { PATH: process.env.PATH, ACCESS_TOKENS_FILE: directory.file('tokens') };
    const { status, stdout } = spawnSync('sh', ['-ec', blockIn('Tokens', 'sh')], {
      cwd: ROOT,
      env: variables,
      encoding: 'utf8',
    });

    expect(status).toBe(0);
    expect(stdout).toMatch(/^[\w-]{43}\nci\t[\d-]{10}T\S+\tvalid\n$/);
    expect(readFileSync(variables.ACCESS_TOKENS_FILE, 'utf8')).not.toContain('ci sha256');
  });

  it('have the file format of docs/authentication.md', () => {
    const [, text = ''] = /```text\n([^]*?)```/.exec(readFileSync(join(ROOT, 'docs/authentication.md'), 'utf8')) ?? [];

    expect(parseTokens(text, 'tokens')).toMatchObject([
      { name: 'gardener' },
      { name: 'trainee', expires: new Date('2030-01-01T00:00:00Z') },
    ]);
  });
});

describe("The README's tree", () => {
  it('names only existing paths', () => {
    const paths: string[] = [];
    let directory = '';
    for (const line of blockIn('Where things are', 'text').split('\n')) {
      const [, indent = '', name = ''] = /^( *)(\S+)/.exec(line) ?? [];
      if (indent === '') directory = name;
      paths.push(indent === '' ? name : `${directory}${name}`);
    }

    expect(paths).toContain('src/main.ts');
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });
});
