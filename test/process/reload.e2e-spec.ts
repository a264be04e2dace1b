import { installCertificate } from '../support/certificates.js';
import { SECOND_TOKEN, TOKEN } from '../support/client.js';
import { importing } from '../support/node-process.js';
import { ServiceDirectory, type Variables, WITH_TOKEN } from '../support/service-directory.js';
import { line, put } from '../support/token-file.js';
import { until } from '../support/until.js';

/** Variables with which the service does not see that a file changes, as on some network file systems. */
const UNWATCHED = importing(
  "import fs from 'node:fs'; import { syncBuiltinESMExports } from 'node:module';" +
    'fs.watchFile = () => undefined; syncBuiltinESMExports();',
);

const directory = ServiceDirectory.ofEachTest();

/** Writes a certificate and a token file, and returns the variables that name them. */
function install(pair: 'first' | 'second', tokens: string): Variables {
  put(directory.file('tokens'), tokens);
  return { ...installCertificate(directory, pair), ACCESS_TOKENS_FILE: 'tokens' };
}

describe('SIGHUP', () => {
  it('lets the service read token file and certificate, although no change is seen', async () => {
    const files = install('first', line('first', TOKEN));
    const { service } = await directory.start({ ...files, ...UNWATCHED });
    const count = (text: string): number => service.stdout.split(text).length - 1;
    const signal = async (signals: number): Promise<void> => {
      service.signal('SIGHUP');
      const arrived = (): boolean => count('"message":"Reloading after SIGHUP"') === signals;
      await until(`SIGHUP ${signals} has arrived`, arrived);
    };
    const used = async (changes: number, tokens: number): Promise<void> => {
      await until('the certificate is used', () => count('The certificate has changed') === changes);
      await until('the tokens are used', () => count(`number of tokens now: ${tokens}`) === 1);
    };

    // A start looks at its files once more, and may see the first change, but not the second one, too.
    install('second', line('second', SECOND_TOKEN));
    await signal(1);
    await used(1, 1);
    install('first', line('first', TOKEN) + line('second', SECOND_TOKEN));
    await signal(2);
    await used(2, 2);

    await signal(3);
    expect(await service.stop()).toBe(0);
    const messages = service.lines.map((text) => (JSON.parse(text) as { message: string }).message);
    expect(messages.slice(-3)).toEqual(['Reloading after SIGHUP', 'Stopping after SIGTERM', 'Stopped']);
  });
});

describe('SIGHUP to a service that waits for its database', () => {
  it('does not end it', async () => {
    const url = 'postgres://u@127.0.0.1:1/plants';
    const service = directory.launch({ ...WITH_TOKEN, DATABASE_URL: url, DATABASE_START_TIMEOUT: '2s' });
    await service.printed(/(The start waits for the database)/);

    service.signal('SIGHUP');

    // A signal would leave no exit status.
    expect(await service.ended).toBe(1);
  });
});
