import { existsSync } from 'node:fs';
import { create, CREATED, MONSTERA, refusal, SECOND_TOKEN, TOKEN } from '../support/client.js';
import { digest } from '../support/digest.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';

const directory = ServiceDirectory.ofEachTest();

describe('ACCESS_TOKENS_FILE', () => {
  it('may have comments, blank lines and expiry times', async () => {
    const [today, expired] = ['a-token-with-a-future', 'a-token-with-a-past'];
    const file = directory.write(
      'tokens',
      [
        '# tokens of the nursery',
        '',
        `gardener ${digest(TOKEN)}`,
        `  nursery\t${digest(SECOND_TOKEN).replace(/[a-f]/g, (letter) => letter.toUpperCase())}\r`,
        `trainee ${digest(today)} 9999-12-31T23:59:59Z`,
        `  # ${digest('a-token-in-a-comment')}`,
        `leaver ${digest(expired)} 2020-01-01T00:00:00Z`,
      ].join('\n'),
    );

    const { url } = await directory.start({ ACCESS_TOKENS_FILE: file });

    for (const token of [TOKEN, SECOND_TOKEN, today]) expect(await create(url, MONSTERA, token)).toEqual(CREATED);
    for (const token of [expired, 'a-token-in-a-comment', digest(TOKEN).slice(7)]) {
      expect(await create(url, MONSTERA, token)).toEqual(refusal(401));
    }
    expect(existsSync(directory.file('data/tokens'))).toBe(false);
  });

  it('adds to ACCESS_TOKENS', async () => {
    directory.write('more-tokens', `gardener ${digest(SECOND_TOKEN)}\n`);

    const { url } = await directory.start({ ...WITH_TOKEN, ACCESS_TOKENS_FILE: 'more-tokens' });

    expect(await create(url, MONSTERA, TOKEN)).toEqual(CREATED);
    expect(await create(url, MONSTERA, SECOND_TOKEN)).toEqual(CREATED);
  });

  it.each([
    {
      what: 'has an invalid line',
      text: `nursery ${digest(SECOND_TOKEN)}\na-secret ${digest(TOKEN).slice(0, 39)}\n`,
      complaint: /^tokens, line 2, [^\n]+ must be [^\n]+ such as [^\n]+\n$/,
    },
    {
      what: 'can be read by others',
      text: `gardener ${digest(TOKEN)}\n`,
      mode: 0o644,
      complaint: /^tokens can be read or written by other users: chmod 600 tokens\n$/,
    },
    { what: 'does not exist', complaint: /^tokens cannot be read[^\n]*\n$/ },
  ])('ends the start with status 2 if it $what', async ({ text, mode, complaint }) => {
    if (text !== undefined) directory.write('tokens', text, mode);

    const failure = await directory.failedStart({ ACCESS_TOKENS_FILE: 'tokens' });

    const [, words] = failure.complaint.split('plant-store: ACCESS_TOKENS_FILE: ');
    expect(words).toMatch(complaint);
    expect(words).not.toContain('a-secret');
    expect(failure.status).toBe(2);
  });

  it('may be readable for a group, as secrets of Kubernetes and credentials of systemd are', async () => {
    directory.write('tokens', `gardener ${digest(TOKEN)}\n`, 0o440);
    const { url } = await directory.start({ ACCESS_TOKENS_FILE: 'tokens' });

    expect(await create(url, MONSTERA, TOKEN)).toEqual(CREATED);
  });
});
