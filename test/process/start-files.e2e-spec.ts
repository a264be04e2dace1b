import { existsSync } from 'node:fs';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';

const directory = ServiceDirectory.ofEachTest();

describe('A start', () => {
  it.each([
    ['ACCESS_TOKENS_FILE', { ACCESS_TOKENS_FILE: 'missing' }],
    ['TLS_CERT_FILE', { ...WITH_TOKEN, TLS_CERT_FILE: 'missing', TLS_KEY_FILE: 'missing' }],
  ])('whose %s cannot be read creates no store', async (name, variables) => {
    const { status, complaint } = await directory.failedStart(variables);

    expect(complaint).toMatch(new RegExp(`^plant-store: ${name}.*: there is no file missing.*\\n$`));
    expect(status).toBe(2);
    expect(existsSync(directory.file('data'))).toBe(false);
  });
});
