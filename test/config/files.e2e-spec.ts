import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, rmSync, symlinkSync } from 'node:fs';
import { TOKEN } from '../support/client.js';
import { ServiceDirectory, type Variables } from '../support/service-directory.js';
import { line } from '../support/token-file.js';

const URL_WITH_PASSWORD = 'postgres://plants:secret@127.0.0.1:1/plants';

/** A file that the configuration names, with a text that is right. */
interface NamedFile {
  readonly name: string;
  readonly variables: Variables;
  readonly text: string;
}

const FILES: readonly NamedFile[] = [
  { name: 'url', variables: { DATABASE_URL_FILE: 'url' }, text: URL_WITH_PASSWORD },
  { name: 'tokens', variables: { ACCESS_TOKENS_FILE: 'tokens' }, text: line('ci', TOKEN) },
  { name: 'tls.crt', variables: { TLS_CERT_FILE: 'tls.crt', TLS_KEY_FILE: 'tls.key' }, text: '' },
  { name: 'tls.key', variables: { TLS_CERT_FILE: 'tls.crt', TLS_KEY_FILE: 'tls.key' }, text: '' },
  ...['sslrootcert', 'sslcert', 'sslkey'].map((name) => ({
    name,
    variables: { DATABASE_URL: `${URL_WITH_PASSWORD}?sslmode=verify-full&${name}=${name}` },
    text: '',
  })),
  { name: 'environment', variables: { ENV_FILE: 'environment' }, text: `ACCESS_TOKENS=${TOKEN}` },
  { name: '.env', variables: {}, text: `DATABASE_URL=${URL_WITH_PASSWORD}` },
];

const directory = ServiceDirectory.ofEachTest();

beforeEach(() => {
  for (const name of ['tls.crt', 'tls.key']) directory.write(name, '');
});

/** Expects that these commands end with status 2 and one line. */
async function expectRefusal(
  variables: Variables,
  complaint: RegExp,
  commands: readonly string[] = ['start', 'check'],
): Promise<void> {
  for (const command of commands) {
    const { status, stderr } = await directory.run(command, [], variables);
    expect({ command, status, stderr }).toEqual({
      command,
      status: 2,
      stderr: expect.stringMatching(/^plant-store: [^\n]+\n$/) as unknown,
    });
    expect(stderr.trimEnd()).toMatch(complaint);
  }
}

describe.each(FILES)('The file $name', ({ name, variables }) => {
  it('must not be a pipe, which would wait for a writer', async () => {
    const file = directory.file(name);
    rmSync(file, { force: true });
    expect(spawnSync('mkfifo', [file]).status).toBe(0);

    // Both read the files with the same code.
    await expectRefusal(variables, new RegExp(`${name} is not a regular file$`), ['start']);
  });
});

describe.each(FILES.filter(({ name }) => !['tls.crt', 'sslrootcert', 'sslcert'].includes(name)))(
  'The file $name, which is no certificate,',
  ({ name, variables, text }) => {
    it('must not let other users read it', async () => {
      directory.write(name, text, 0o644);

      await expectRefusal(variables, new RegExp(`chmod .+ ${name}$`));
    });
  },
);

describe('.env', () => {
  it('that is a link without a target is refused: a secret is not mounted', async () => {
    symlinkSync('nowhere', directory.file('.env'));

    await expectRefusal({}, /there is no file \.env/);
  });

  it.each([
    `ACCESS_TOKENS=${TOKEN}`,
    `DATABASE_URL=${URL_WITH_PASSWORD}`,
    `DATABASE_URL=${URL_WITH_PASSWORD.replace('postgres:', 'postgresql:')}`,
  ])('must not let other users read %s', async (text) => {
    directory.write('.env', text, 0o644);

    await expectRefusal({}, /\.env can be read or written by other users: chmod 600 \.env$/);
  });

  it('may let other users read what is not secret, but not write it', async () => {
    const file = directory.write('.env', 'DATABASE_URL=sqlite:house.db', 0o644);
    expect(await directory.run('check')).toMatchObject({ status: 0 });

    chmodSync(file, 0o646);
    await expectRefusal({}, /\.env can be written by other users: chmod go-w \.env$/, ['check']);
  });

  it.each(process.getuid?.() === 0 ? ['root'] : [])(
    'of another user does not redirect the commands of %s',
    async () => {
      chmodSync(directory.path, 0o777);
      const file = directory.write('.env', 'ACCESS_TOKENS_FILE=elsewhere\n', 0o644);
      chownSync(file, 12_345, 12_345);

      expect(await directory.run('token', ['create', '--name', 'ci'])).toEqual({
        status: 2,
        stdout: '',
        stderr: 'plant-store: .env belongs to another user, who must not decide what this program does\n',
      });
    },
  );
});
