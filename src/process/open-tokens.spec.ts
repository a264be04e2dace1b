import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { digestToken } from '../auth/static-tokens.js';
import { formatToken } from '../auth/token-file.js';
import { parseConfiguration } from '../config/load-configuration.js';
import { openTokens } from './open-tokens.js';

describe('The tokens of a service', () => {
  const directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
  const [named, byDefault] = [join(directory, 'named'), join(directory, 'tokens')];
  const issuer = { JWT_ISSUER: 'https://login.example.com', JWT_AUDIENCE: 'plants' };

  beforeAll(() => {
    for (const [file, token] of Object.entries({ [named]: 'of-the-file', [byDefault]: 'of-the-default' })) {
      writeFileSync(file, `${formatToken({ name: 'ci', digest: digestToken(token) })}\n`, { mode: 0o600 });
    }
  });

  afterAll(() => rmSync(directory, { recursive: true }));

  it.each<{ variables: Readonly<Record<string, string>>; valid: readonly string[] }>([
    { variables: {}, valid: ['of-the-default'] },
    { variables: issuer, valid: ['of-the-default'] },
    // The token of a first start must not outlive the tokens that the operator sets in its place.
    { variables: { ACCESS_TOKENS: 'one,two' }, valid: ['one', 'two'] },
    { variables: { ACCESS_TOKENS: 'one', ...issuer }, valid: ['one'] },
    { variables: { ACCESS_TOKENS_FILE: named }, valid: ['of-the-file'] },
    { variables: { ACCESS_TOKENS: 'one', ACCESS_TOKENS_FILE: named }, valid: ['one', 'of-the-file'] },
  ])('with $variables are $valid alone', ({ variables, valid }) => {
    const configuration = parseConfiguration({ DATABASE_URL: `sqlite:${directory}/plants.db`, ...variables });
    const tokens = openTokens(configuration);

    const all = ['one', 'two', 'of-the-file', 'of-the-default'];
    expect(all.filter((token) => tokens.verify(token) !== undefined)).toEqual(valid);
    expect(tokens.count).toBe(valid.length);
  });
});
