import { spawnSync } from 'node:child_process';
import { parseConfiguration } from '../../src/config/load-configuration.js';
import { ERROR_TABLE } from '../../src/contract/error-table.js';
import { create, CREATED, post, TOKEN } from '../support/client.js';
import { MAIN } from '../support/command.js';
import { Paper } from '../support/paper.js';
import { sharedService } from '../support/service.js';
import { ServiceDirectory } from '../support/service-directory.js';

const README = new Paper('README.md');

describe('docs/clients.md', () => {
  it('has the numbers and texts of the error table', () => {
    const rows = Object.entries(ERROR_TABLE).map(([error, { when }]) => [error, when]);

    expect(new Paper('docs/clients.md').tableIn('Errors').map(([error, when]) => [error, when])).toEqual(rows);
  });
});

describe("The README's examples", () => {
  const service = sharedService();

  beforeEach(() => service.store.query('DELETE FROM plants'));

  it('create a plant with curl', async () => {
    const curl = README.blockIn('Create a plant', 'sh').replace('<ACCESS_TOKEN>', TOKEN);
    const { host, port, basePath } = parseConfiguration({});
    const headers = [...curl.matchAll(/-H '([\w-]+): ([^']+)'/g)].map(([, name = '', value = '']) => [name, value]);
    const [, sent = ''] = /-d '([^']+)'/.exec(curl) ?? [];
    const answer = await fetch(`${service.url}/plants`, {
      method: 'POST',
      headers: headers as [string, string][],
      body: sent,
    });
    const type = answer.headers.get('content-type') ?? 'none';
    const head = `HTTP/1.1 ${answer.status} ${answer.statusText}\nContent-Type: ${type}`;

    expect(curl).toMatch(`curl -i http://${host}:${port}${basePath}/plants \\\n`);
    expect(`${head}\n\n${await answer.text()}`).toBe(README.blockIn('Create a plant', 'http'));
    expect(await service.rows()).toEqual([{ id: 1n, name: 'Monstera', tag: 'indoor' }]);
  });

  it('get the documented answers, in this order', async () => {
    const examples = README.tableIn('What a client must know');
    const answers: string[][] = [];
    for (const [sent = ''] of examples) {
      const { status, body } = await post(service.url, sent);
      answers.push([sent, `${status}`, JSON.stringify(body)]);
    }

    expect(answers).toEqual(examples);
    expect((await service.rows()).map(({ id }) => id)).toEqual([7n, 9007199254740992n, 9007199254740993n]);
  });
});

describe("The README's commands", () => {
  const directory = ServiceDirectory.ofEachTest();

  it('show the plants', async () => {
    const { url } = await directory.start();
    expect(await create(url)).toEqual(CREATED);
    const block = README.blockIn('Look at your plants', 'sh');
    const commands = block.replaceAll('npx plant-store', `'${process.execPath}' '${MAIN}'`);

    const { status, stdout, stderr } = spawnSync('sh', ['-ec', commands], { cwd: directory.path, encoding: 'utf8' });

    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringMatching(/^\{"id":\d+,.*\}\n$/) as string });
    expect(stderr).toMatch(/plants\.csv has 1 plant\n1 plant, SHA-256 [\da-f]{64}\n$/);
  });
});
