import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { create, CREATED, TOKEN } from '../support/client.js';
import { type Run } from '../support/command.js';
import { ServiceDirectory, type Variables, WITH_TOKEN } from '../support/service-directory.js';
import { line } from '../support/token-file.js';

const CERTIFICATES = join(import.meta.dirname, '../support/certificates');

const directory = ServiceDirectory.ofEachTest();

function check(variables?: Variables, parameters: readonly string[] = []): Promise<Run> {
  return directory.run('check', parameters, variables);
}

describe('plant-store check', () => {
  it('finds nothing wrong in an empty directory, and creates nothing', async () => {
    expect(await check()).toEqual({
      status: 0,
      stdout: '',
      stderr: 'configuration: ok\ntokens: 0\ncertificate: none\ndatabase: ok, a start creates it\n',
    });
    expect(readdirSync(directory.path)).toEqual([]);
  });

  it('checks the files and the database of a service that runs', async () => {
    for (const name of ['first.crt', 'first.key']) {
      directory.write(name, readFileSync(join(CERTIFICATES, name), 'utf8'));
    }
    directory.write('tokens', line('ci', TOKEN));
    const variables = { ACCESS_TOKENS_FILE: 'tokens', TLS_CERT_FILE: 'first.crt', TLS_KEY_FILE: 'first.key' };
    const { service } = await directory.start(variables);
    await service.listening();

    const { status, stdout } = await check(variables, ['--json']);

    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      tokens: 1,
      certificate: { expires: expect.stringMatching(/^\d{4}-/) as unknown },
      database: 'present',
    });
  });

  it('changes nothing in the database', async () => {
    const { service, url } = await directory.start();
    expect(await create(url)).toEqual(CREATED);
    await service.stop();
    const before = readFileSync(directory.file('data/plants.db'));

    expect(await check(WITH_TOKEN)).toMatchObject({ status: 0 });

    expect(readFileSync(directory.file('data/plants.db'))).toEqual(before);
    expect(readdirSync(directory.file('data'))).toEqual(['plants.db']);
  });

  it.each<{ what: string; status: number; complaint: RegExp; variables?: Variables; prepare?: () => unknown }>([
    { what: 'setting', status: 2, complaint: /PORT must be/, variables: { PORT: 'http' } },
    {
      what: 'token file',
      status: 2,
      complaint: /ACCESS_TOKENS_FILE: tokens, line 1, is not a token/,
      variables: { ACCESS_TOKENS_FILE: 'tokens' },
      prepare: () => directory.write('tokens', 'ci\n'),
    },
    {
      what: 'certificate',
      status: 2,
      complaint: /TLS_CERT_FILE and TLS_KEY_FILE: a cannot be read/,
      variables: { TLS_CERT_FILE: 'a', TLS_KEY_FILE: 'b' },
    },
    {
      what: 'database that is no database',
      status: 1,
      complaint: /not a SQLite database/,
      variables: { DATABASE_URL: 'sqlite:plants.db' },
      prepare: () => directory.write('plants.db', 'Monstera, indoor\n'.repeat(99)),
    },
    {
      what: 'database with a newer schema',
      status: 1,
      complaint: /has a schema that is newer than this version/,
      prepare: async () => {
        await directory.store([]);
        directory.openDatabase().exec('PRAGMA user_version = 9999');
      },
    },
    {
      what: 'database server that refuses connections',
      status: 1,
      complaint: /the database postgres:\/\/localhost\/plants cannot be reached/,
      variables: { DATABASE_URL: 'postgres://u:secret@localhost/plants?host=/nowhere', DATABASE_START_TIMEOUT: '1ms' },
    },
  ])('fails with status $status and one line for a wrong $what', async ({ status, complaint, variables, prepare }) => {
    await prepare?.();

    const run = await check(variables);

    expect(run.stderr).toMatch(complaint);
    expect(run.stderr).toMatch(/^plant-store: [^\n]+\n$/);
    expect(run.stderr).not.toContain('secret');
    expect(run).toMatchObject({ status, stdout: '' });
  });
});
