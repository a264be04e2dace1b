import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { TokenFileVerifier } from '../../src/auth/token-file-verifier.js';
import { SECOND_TOKEN, TOKEN } from '../support/client.js';
import { AUDIENCE, IdentityProvider, RSA } from '../support/identity-provider.js';
import { ask } from '../support/raw-client.js';
import { ServiceDirectory } from '../support/service-directory.js';
import { line, put, untilAnswer } from '../support/token-file.js';
import { until } from '../support/until.js';

const directory = ServiceDirectory.ofEachTest();

describe('A token file', () => {
  const SECOND_LINE = line('tests', SECOND_TOKEN);
  const logged = jest.spyOn(Logger.prototype, 'log').mockImplementation(() => undefined);
  const errors = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  let file: string;
  let tokens: TokenFileVerifier;

  beforeEach(() => {
    jest.clearAllMocks();
    file = directory.write('tokens', line('tests', TOKEN));
    tokens = new TokenFileVerifier(file);
    tokens.onModuleInit();
  });

  afterEach(() => tokens.onApplicationShutdown());

  afterAll(() => jest.restoreAllMocks());

  /** Returns which of the tokens are valid. */
  function valid(...candidates: readonly string[]): string[] {
    return candidates.filter((token) => 'name' in (tokens.verify(token) ?? {}));
  }

  it('may be empty: then nobody has access', () => {
    writeFileSync(file, '');
    tokens.reload();

    expect(valid(TOKEN)).toEqual([]);
  });

  it('that is a symbolic link is reloaded when its target changes, as a volume of Kubernetes does', async () => {
    for (const [version, token] of Object.entries({ v1: 'a-third-token', v2: SECOND_TOKEN })) {
      mkdirSync(directory.file(version));
      directory.write(`${version}/tokens`, line('tests', token), 0o440);
    }
    symlinkSync('v1', directory.file('..data'));
    unlinkSync(file);
    symlinkSync('..data/tokens', file);
    // It is read once more soon after the start, whether or not it has changed.
    await until('the first target is read', () => valid('a-third-token').length === 1);

    symlinkSync('v2', directory.file('..new'));
    renameSync(directory.file('..new'), directory.file('..data'));

    await until('the second target is read', () => valid(SECOND_TOKEN).length === 1);
    expect(valid(TOKEN, 'a-third-token')).toEqual([]);
  });

  it.each([
    { what: 'has an invalid line', reason: /line 2, is not/, spoil: () => put(file, `${SECOND_LINE}ci secret\n`) },
    { what: 'is missing', reason: /there is no file/, spoil: () => unlinkSync(file) },
    { what: 'can be read by others', reason: /chmod 600/, spoil: () => put(file, SECOND_LINE, 0o604) },
  ])('that $what keeps the previous tokens, is logged, and is used when it is repaired', ({ reason, spoil }) => {
    spoil();
    tokens.reload();

    expect(valid(TOKEN, SECOND_TOKEN)).toEqual([TOKEN]);
    const message = expect.stringMatching(/^[^\n]+; keeping the tokens read before$/) as unknown;
    expect(errors.mock.calls).toEqual([[message]]);
    expect(errors.mock.calls[0]?.[0]).toMatch(reason);
    expect(errors.mock.calls[0]?.[0]).not.toContain('secret');

    rmSync(file, { recursive: true, force: true });
    put(file, SECOND_LINE);
    tokens.reload();
    expect(valid(TOKEN, SECOND_TOKEN)).toEqual([SECOND_TOKEN]);
  });

  describe('that may be missing until the first token is created', () => {
    const MISSING = [expect.stringMatching(/there is no file.+; keeping the tokens read before$/)];
    const BROKEN = [expect.stringMatching(/line 1, is not.+; keeping the tokens read before$/)];
    let ofDefaultFile: TokenFileVerifier;

    beforeEach(() => {
      ofDefaultFile = new TokenFileVerifier(file, { mayBeMissing: true });
    });

    it('is logged when it vanishes later', () => {
      ofDefaultFile.load();
      unlinkSync(file);
      ofDefaultFile.reload();

      expect(errors.mock.calls).toEqual([MISSING]);
    });

    it.each([
      { when: 'has been read', before: () => undefined },
      { when: 'was missing', before: () => unlinkSync(file) },
    ])('is logged when it $when, is broken, and vanishes', ({ before }) => {
      before();
      ofDefaultFile.load();
      put(file, 'ci secret\n');
      ofDefaultFile.reload();
      unlinkSync(file);
      ofDefaultFile.reload();

      expect(errors.mock.calls).toEqual([BROKEN, MISSING]);
    });
  });

  it('is logged when it is in use again, or has changed, and not otherwise', () => {
    tokens.reload();
    expect(logged).not.toHaveBeenCalled();
    chmodSync(file, 0o644);
    tokens.reload();
    chmodSync(file, 0o600);
    tokens.reload();
    put(file, line('gardener', TOKEN) + SECOND_LINE);
    tokens.reload();

    expect(logged.mock.calls).toEqual([1, 2].map((count) => [`${file} is in use; number of tokens now: ${count}`]));
  });
});

describe('The program', () => {
  it('reloads its token file beside an identity provider, whose keys it fetches at the start', async () => {
    const provider = new IdentityProvider();
    await provider.start([RSA]);
    const file = directory.write('tokens', line('gardener', SECOND_TOKEN));
    const issuer = { JWT_ISSUER: provider.issuer, JWT_AUDIENCE: AUDIENCE };
    const { url } = await directory.start({ ...issuer, ACCESS_TOKENS_FILE: 'tokens' });
    await until('the keys are fetched', () => provider.requests.includes('/jwks'));
    expect(await ask(url, SECOND_TOKEN)).toBe(200);

    put(file, line('gardener', TOKEN));
    await untilAnswer(401, url, SECOND_TOKEN);
    expect(await ask(url, TOKEN)).toBe(200);
    await provider.stop();
  });
});
