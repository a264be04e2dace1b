import { createHash } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { TokenFileVerifier } from '../../src/auth/token-file-verifier.js';
import { create, CREATED, SECOND_TOKEN, TOKEN } from '../support/client.js';
import { ask } from '../support/raw-client.js';
import { AUDIENCE, IdentityProvider, RSA } from '../support/identity-provider.js';
import { type Service, startService } from '../support/service.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';
import { line, put, untilAnswer } from '../support/token-file.js';
import { until } from '../support/until.js';

const directory = ServiceDirectory.ofEachTest();

/** Returns the digest of a token as token files hold it. */
function digest(token: string): string {
  return `sha256:${createHash('sha256').update(token).digest('hex')}`;
}

describe('A token file', () => {
  let file: string;
  let tokens: TokenFileVerifier;
  let service: Service;

  beforeEach(async () => {
    file = directory.write('tokens', line('tests', TOKEN));
    tokens = new TokenFileVerifier(file);
    service = await startService({ verifier: tokens });
  });

  afterEach(() => service.close());

  it('may have comments, blank lines, and expiry times in UTC', async () => {
    const lines = [
      '# tokens of the nursery',
      '',
      `  gardener\t${digest(SECOND_TOKEN).replace(/[a-f]/g, (letter) => letter.toUpperCase())}\r`,
      `trainee ${digest('later')} 9999-12-31T23:59:59.500Z`,
      `  # ${digest('in-a-comment')}`,
      `leaver ${digest('over')} 2020-02-29T00:00:00Z`,
    ];
    put(file, lines.join('\n'));
    tokens.reload();

    for (const token of [SECOND_TOKEN, 'later']) expect(await ask(service.url, token)).toBe(200);
    for (const token of [TOKEN, 'over', 'in-a-comment', digest(SECOND_TOKEN).slice(7)]) {
      expect(await ask(service.url, token)).toBe(401);
    }
  });

  it('may be empty: then nobody has access', async () => {
    put(file, '');
    tokens.reload();

    expect(await ask(service.url, TOKEN)).toBe(401);
  });

  it('is reloaded when it is emptied and then written line by line, for open connections as well', async () => {
    expect(await ask(service.url, TOKEN)).toBe(200);
    writeFileSync(file, '');
    for (const token of [SECOND_TOKEN, 'a-third-token']) appendFileSync(file, line('tests', token));

    await untilAnswer(200, service.url, 'a-third-token');
    expect(await ask(service.url, SECOND_TOKEN)).toBe(200);
    expect(await ask(service.url, TOKEN)).toBe(401);
  });

  it('is reloaded while a program rewrites it every 50 ms', async () => {
    const rewriting = setInterval(() => put(file, line('tests', SECOND_TOKEN)), 50);

    await untilAnswer(200, service.url, SECOND_TOKEN);
    clearInterval(rewriting);
  });

  it('that is a symbolic link is reloaded when its target changes, as a volume of Kubernetes does', async () => {
    for (const [version, token] of Object.entries({ v1: TOKEN, v2: SECOND_TOKEN })) {
      mkdirSync(directory.file(version));
      directory.write(`${version}/tokens`, line('tests', token), 0o440);
    }
    symlinkSync('v1', directory.file('..data'));
    unlinkSync(file);
    symlinkSync('..data/tokens', file);
    expect(await ask(service.url, TOKEN)).toBe(200);

    symlinkSync('v2', directory.file('..new'));
    renameSync(directory.file('..new'), directory.file('..data'));

    await untilAnswer(200, service.url, SECOND_TOKEN);
    expect(await ask(service.url, TOKEN)).toBe(401);
  });

  const SECOND_LINE = line('tests', SECOND_TOKEN);

  it.each([
    { what: 'has an invalid line', reason: /line 2, is not/, spoil: () => put(file, `${SECOND_LINE}ci secret\n`) },
    {
      what: 'has a date that does not exist',
      reason: /line 1, is not/,
      spoil: () => put(file, SECOND_LINE.replace('\n', ' 2030-02-30T00:00:00Z\n')),
    },
    {
      what: 'is a directory',
      reason: /is not a regular file/,
      spoil: () => {
        unlinkSync(file);
        mkdirSync(file);
      },
    },
    { what: 'is missing', reason: /there is no file/, spoil: () => unlinkSync(file) },
    { what: 'is group-writable', reason: /chmod 600/, spoil: () => put(file, SECOND_LINE, 0o660) },
    { what: 'can be read by others', reason: /chmod 600/, spoil: () => put(file, SECOND_LINE, 0o604) },
  ])(
    'that $what keeps the previous tokens, is logged, and is reloaded when it is repaired',
    async ({ reason, spoil }) => {
      spoil();
      tokens.reload();

      expect(await ask(service.url, TOKEN)).toBe(200);
      expect(await ask(service.url, SECOND_TOKEN)).toBe(401);
      expect(service.log()[0]).toMatch(reason);
      expect(service.log()[0]).toMatch(/; keeping the tokens read before\n/);
      expect(service.log()[0]).not.toContain('secret');

      rmSync(file, { recursive: true, force: true });
      put(file, SECOND_LINE);
      await untilAnswer(200, service.url, SECOND_TOKEN);
      expect(await ask(service.url, TOKEN)).toBe(401);
    },
  );
});

describe('ACCESS_TOKENS_FILE', () => {
  it('that others may read for a while is logged, and again when it can be used again', async () => {
    const file = directory.write('tokens', line('gardener', SECOND_TOKEN));
    const { service } = await directory.start({ ACCESS_TOKENS_FILE: 'tokens' });

    chmodSync(file, 0o644);
    await until('the fault is logged', () => service.stdout.includes('; keeping the tokens read before'));
    chmodSync(file, 0o600);
    await until('its end is logged', () => service.stdout.includes('tokens is in use; number of tokens now: 1'));
    put(file, line('gardener', TOKEN) + line('ci', SECOND_TOKEN));
    await until('a later change is logged as one', () =>
      service.stdout.includes('tokens is in use; number of tokens now: 2'),
    );
  });

  it('is reloaded beside an identity provider, whose keys are fetched before a token needs them', async () => {
    const provider = new IdentityProvider();
    await provider.start([RSA]);
    const file = directory.write('tokens', line('gardener', SECOND_TOKEN));
    const issuer = { JWT_ISSUER: provider.issuer, JWT_AUDIENCE: AUDIENCE };
    const { url } = await directory.start({ ...issuer, ACCESS_TOKENS_FILE: 'tokens' });
    expect(await ask(url, SECOND_TOKEN)).toBe(200);

    await until('the keys are fetched', () => provider.requests.includes('/jwks'));
    put(file, line('gardener', TOKEN));
    await untilAnswer(401, url, SECOND_TOKEN);
    expect(await create(url)).toEqual(CREATED);
    await provider.stop();
  });

  it.each(['2020-01-01T00:00:00Z', '2999-01-01T00:00:00Z'])(
    'that has a token of ACCESS_TOKENS, too, with the expiry %s, does not shorten its life',
    async (expiry) => {
      directory.write('tokens', line('gardener', TOKEN, new Date(expiry)));
      const { url } = await directory.start({ ...WITH_TOKEN, ACCESS_TOKENS_FILE: 'tokens' });

      expect(await create(url)).toEqual(CREATED);
    },
  );

  it('adds to ACCESS_TOKENS, and no token is created', async () => {
    directory.write('more-tokens', line('gardener', SECOND_TOKEN));

    const { url } = await directory.start({ ...WITH_TOKEN, ACCESS_TOKENS_FILE: 'more-tokens' });

    expect(await create(url)).toEqual(CREATED);
    expect(await ask(url, SECOND_TOKEN)).toBe(200);
    expect(existsSync(directory.file('data/tokens'))).toBe(false);
  });
});
