import { chmodSync, readdirSync, readFileSync } from 'node:fs';
import { TOKEN } from '../support/client.js';
import { installCertificate } from '../support/certificates.js';
import { ServiceDirectory, type Variables, WITH_TOKEN } from '../support/service-directory.js';
import { line } from '../support/token-file.js';

const directory = ServiceDirectory.ofEachTest();

/** Root may ignore the modes of files. */
const wrapper = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] : [];

describe('plant-store check', () => {
  it('finds nothing wrong in an empty directory, and creates nothing', async () => {
    expect(await directory.run('check')).toEqual({
      status: 0,
      stdout: '',
      stderr: 'configuration: ok\ntokens: 0\ncertificate: none\ndatabase: ok, a start creates it\n',
    });
    expect(readdirSync(directory.path)).toEqual([]);
  });

  it('checks the files and the database of a service that runs', async () => {
    directory.write('tokens', line('ci', TOKEN));
    const variables = { ACCESS_TOKENS_FILE: 'tokens', ...installCertificate(directory) };
    const { url, management } = await directory.startManaged({ ...variables, ACCESS_TOKENS: '' });
    // Its ports are in use.
    const ports = { PORT: new URL(url).port, MANAGEMENT_PORT: new URL(management).port };

    const { status, stdout } = await directory.run('check', ['--json'], { ...variables, ...ports });

    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      tokens: 1,
      jwt: null,
      certificate: { expires: expect.stringMatching(/^\d{4}-/) as unknown },
      database: 'present',
    });
  });

  it('names the issuer of JWTs and their audiences', async () => {
    const variables = { JWT_ISSUER: 'https://login.example.com/', JWT_AUDIENCE: 'plants, a-client' };

    const { status, stderr } = await directory.run('check', [], variables);

    expect(status).toBe(0);
    expect(stderr).toContain('\njwt: https://login.example.com/ for plants, a-client\n');
  });

  it.each(['expired', 'future'] as const)('fails with status 1 for a certificate that is %s', async (pair) => {
    expect(await directory.run('check', [], installCertificate(directory, pair))).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^plant-store: TLS_CERT_FILE: the certificate is valid from .+ to .+ GMT: renew it\n$/,
      ) as unknown,
    });
  });

  it('refuses a table without a primary key, as the start does, and changes nothing', async () => {
    const database = directory.openDatabase('plants.db');
    database.exec("CREATE TABLE plants (id integer, name text, tag text); INSERT INTO plants VALUES (1, 'a', 'b')");
    database.close();
    const variables = { ...WITH_TOKEN, DATABASE_URL: 'sqlite:plants.db' };
    const before = readFileSync(directory.file('plants.db'));

    const checked = await directory.run('check', [], variables);

    expect(checked).toMatchObject({ status: 1, stdout: '' });
    expect(readFileSync(directory.file('plants.db')).equals(before)).toBe(true);
    expect(await directory.failedStart(variables)).toEqual({ status: 1, complaint: checked.stderr });
  });

  it('does not take a database that this user may not look for as a new one', async () => {
    await directory.store([], 'plants/plants.db');
    chmodSync(directory.file('plants'), 0o600);

    const { status, stderr } = await directory.run('check', [], { DATABASE_URL: 'sqlite:plants/plants.db' }, '', {
      wrapper,
    });

    chmodSync(directory.file('plants'), 0o700);
    expect(status).toBe(1);
    expect(stderr).toMatch(/^plant-store: the database plants\/plants\.db cannot be used: EACCES: [^\n]+\n$/);
  });

  const UNREACHABLE = 'postgres://u:secret@localhost/plants?host=/nowhere';

  it.each<{ variables: Variables; status: number; complaint: RegExp }>([
    { variables: { PORT: 'http' }, status: 2, complaint: /PORT must be/ },
    { variables: { ACCESS_TOKENS_FILE: 'words' }, status: 2, complaint: /_FILE: words, line 1, is not a token/ },
    {
      variables: { TLS_CERT_FILE: 'a', TLS_KEY_FILE: 'b' },
      status: 2,
      complaint: /TLS_KEY_FILE: there is no file a: name one that exists/,
    },
    { variables: { DATABASE_URL: 'sqlite:words' }, status: 1, complaint: /file is not a database$/m },
    {
      variables: { DATABASE_URL: UNREACHABLE, DATABASE_START_TIMEOUT: '1ms' },
      status: 1,
      complaint: /the database postgres:\/\/localhost\/plants cannot be used: /,
    },
  ])('fails with status $status and one line for $variables', async ({ variables, status, complaint }) => {
    directory.write('words', 'Monstera, indoor\n'.repeat(99));

    const run = await directory.run('check', [], variables);

    expect(run).toEqual({ status, stdout: '', stderr: expect.stringMatching(/^plant-store: [^\n]+\n$/) as unknown });
    expect(run.stderr).toMatch(complaint);
    expect(run.stderr).not.toContain('secret');
  });
});
