import { writeFileSync } from 'node:fs';
import { create, CREATED, MONSTERA, post, refusal, SECOND_TOKEN, TOKEN } from '../support/client.js';
import { ServiceDirectory, type Variables, WITH_TOKEN } from '../support/service-directory.js';
import { variableNames } from '../support/variable-names.js';

const directory = ServiceDirectory.ofEachTest();

/** Expects that the service does not start, but prints one line. */
async function expectRefusal(variables: Variables, complaint: RegExp): Promise<void> {
  const failure = await directory.failedStart({ ...WITH_TOKEN, ...variables });

  expect(failure).toEqual({ status: 2, complaint: expect.stringMatching(/^plant-store: [^\n]+\n$/) as unknown });
  expect(failure.complaint.trimEnd()).toMatch(complaint);
  expect(failure.complaint).not.toContain('user:secret');
}

describe('The environment', () => {
  it('is completed by .env in the working directory, even if that begins with a byte order mark', async () => {
    directory.write('.env', `\uFEFFBASE_PATH=/from-the-file\r\n# for the tests\nACCESS_TOKENS="${TOKEN}"`);

    const { url } = await directory.start({});

    expect(new URL(url).pathname).toBe('/from-the-file');
    expect(await create(url)).toEqual(CREATED);
  });

  it('overrides .env', async () => {
    directory.write('.env', `ACCESS_TOKENS=${SECOND_TOKEN}\nBASE_PATH=/from-the-file\n`);

    const { url } = await directory.start({ ...WITH_TOKEN, BASE_PATH: '/from-the-environment' });

    expect(new URL(url).pathname).toBe('/from-the-environment');
    expect(await create(url)).toEqual(CREATED);
    expect(await create(url, MONSTERA, SECOND_TOKEN)).toEqual(refusal(401));
  });

  it('ends the start with status 2 and one line if .env is Latin-1', async () => {
    writeFileSync(directory.file('.env'), 'PORT=1 # \u00FC\n', 'latin1');

    await expectRefusal({}, /\.env must be a file in UTF-8 that this user may read$/);
  });

  it('may have empty variables, which count as unset', async () => {
    const empty = Object.fromEntries(variableNames().map((name) => [name, '']));

    const { token, url } = await directory.firstStart({ ...empty, PORT: '0', MANAGEMENT_PORT: 'off' });

    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(await create(url, MONSTERA, token)).toEqual(CREATED);
    expect(directory.names()).toEqual(['Monstera']);
  });
});

describe('A variable with an invalid value', () => {
  it('ends the start with status 2 and one line', async () => {
    await expectRefusal({ PORT: '65536' }, /^plant-store: PORT must be a number from 0 to 65535, for example 8080$/);
  });
});

describe('DATABASE_URL_FILE', () => {
  it.each<[what: string, variables: Variables, complaint: RegExp]>([
    ['names no file', { DATABASE_URL_FILE: 'none' }, /_FILE must be the path of a file that this user may read, for/],
    ['has another text', { DATABASE_URL_FILE: 'url' }, /the text in DATABASE_URL_FILE must be a URL /],
    [
      'stands beside DATABASE_URL',
      { DATABASE_URL_FILE: 'url', DATABASE_URL: 'sqlite:plants.db' },
      /DATABASE_URL and DATABASE_URL_FILE exclude each other: set one of them$/,
    ],
  ])('that %s ends the start with status 2, and is not shown', async (_, variables, complaint) => {
    directory.write('url', 'mysql://user:secret@localhost/plants\n');

    await expectRefusal(variables, complaint);
  });

  it('names the file with the URL', async () => {
    directory.write('url', 'sqlite:from/file.db\n');

    await create((await directory.start({ ...WITH_TOKEN, DATABASE_URL_FILE: 'url' })).url);

    expect(directory.names('from/file.db')).toEqual(['Monstera']);
  });
});

describe('A valid value takes effect', () => {
  it('of BODY_LIMIT, and ACCESS_TOKENS with several tokens', async () => {
    const { url } = await directory.start({ ACCESS_TOKENS: `${TOKEN}, ${SECOND_TOKEN}`, BODY_LIMIT: '1kb' });

    for (const token of [TOKEN, SECOND_TOKEN]) expect(await create(url, MONSTERA, token)).toEqual(CREATED);
    expect(await post(url, ' '.repeat(1_025))).toEqual(refusal(413));
  });
});
