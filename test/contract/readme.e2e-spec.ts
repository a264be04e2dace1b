import { spawnSync } from 'node:child_process';
import { parseConfiguration } from '../../src/config/configuration.js';
import { ERROR_TABLE } from '../../src/contract/error-table.js';
import { create, CREATED, TOKEN } from '../support/client.js';
import { MAIN } from '../support/command.js';
import { Paper } from '../support/paper.js';
import { type Service, startService } from '../support/service.js';
import { ServiceDirectory } from '../support/service-directory.js';

const README = new Paper('README.md');
const CLIENTS = new Paper('docs/clients.md');
const ROWS = Object.entries(ERROR_TABLE).map(([error, { when }]) => [error, when]);

describe('The error table of docs/clients.md', () => {
  it('has the numbers and texts of the error table', () => {
    expect(CLIENTS.tableIn('Errors').map(([error, when]) => [error, when])).toEqual(ROWS);
  });
});

describe("The README's error table", () => {
  it('has rows of docs/clients.md', () => {
    const rows = README.tableIn('Errors');

    expect(rows.map(([error]) => error)).toEqual(['400', '401', '409', '415', '422', '503']);
    expect(CLIENTS.tableIn('Errors')).toEqual(expect.arrayContaining(rows));
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
    const curl = README.blockIn('Create a plant', 'sh');
    const { host, port, basePath } = parseConfiguration({});
    const headers = [...curl.matchAll(/-H '([\w-]+): ([^']+)'/g)].map(([, name = '', value = '']): [string, string] => [
      name,
      value.replace('<ACCESS_TOKEN>', TOKEN),
    ]);
    const [, body = ''] = /-d '([^']+)'/.exec(curl) ?? [];

    expect(curl).toMatch(`curl -i http://${host}:${port}${basePath}/plants \\\n`);
    expect(await format(await post(headers, body))).toBe(README.blockIn('Create a plant', 'http'));
    expect(await service.rows()).toEqual([{ id: 1n, name: 'Monstera', tag: 'indoor' }]);
    const conflict = await post(headers, body.replace('indoor', 'outdoor'));
    expect(await format(conflict)).toBe(README.blockIn('Errors', 'http'));
  });

  it('get the documented answers, in this order', async () => {
    const examples = README.tableIn('What a client must know');
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

describe("The README's commands", () => {
  it('show the plants', async () => {
    const directory = new ServiceDirectory();
    const { service, url } = await directory.start();
    expect(await create(url)).toEqual(CREATED);
    const commands = README.blockIn('Look at your plants', 'sh').replaceAll(
      'npx plant-store',
      `'${process.execPath}' '${MAIN}'`,
    );

    const { status, stdout, stderr } = spawnSync('sh', ['-ec', commands], { cwd: directory.path, encoding: 'utf8' });

    await service.stop();
    await directory.remove();
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringMatching(/^\{"id":\d+,.*\}\n$/) as string });
    expect(stderr).toMatch(/plants\.csv has 1 plant\n1 plant, SHA-256 [\da-f]{64}\n$/);
  });
});
