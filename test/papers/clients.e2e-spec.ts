import { execFile } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ServiceUnavailableException } from '@nestjs/common';
import { digestToken, StaticTokens } from '../../src/auth/static-tokens.js';
import type { VerificationResult } from '../../src/auth/token-verifier.js';
import { TOKEN } from '../support/client.js';
import { Paper } from '../support/paper.js';
import { ROOT } from '../support/root.js';
import { sharedService } from '../support/service.js';
import { ServiceDirectory } from '../support/service-directory.js';

const BINARIES = join(ROOT, 'node_modules/.bin');
const GUIDE = new Paper('docs/clients.md');
const PLANT = { id: 9007199254740995n, name: 'Monstera', tag: 'indoor' };

const directory = ServiceDirectory.ofEachTest();

/** Refuses one request with error 503, as while an identity provider is away. */
class InterruptedVerifier extends StaticTokens {
  isInterrupted = false;

  override verify(token: string): VerificationResult {
    const { isInterrupted } = this;
    this.isInterrupted = false;
    if (isInterrupted) throw new ServiceUnavailableException();
    return super.verify(token);
  }
}

const verifier = new InterruptedVerifier([{ name: 'tests', digest: digestToken(TOKEN) }]);
const service = sharedService({ verifier });

beforeEach(() => service.store.query('DELETE FROM plants'));

/** Runs a program in the directory, and returns what it prints; one that fails is an error. */
async function run(program: string, ...parameters: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(program, parameters, { cwd: directory.path });
  return stdout;
}

const [LIBRARY = '', CALL = ''] = GUIDE.blocksIn('JavaScript', 'js').map((block) => `${block}\n`);

describe("The guide's JavaScript", () => {
  function runClient(call: string): Promise<string> {
    directory.write('client.mjs', `${LIBRARY}const [baseUrl, token] = process.argv.slice(2);\n${call}`);
    return run(process.execPath, 'client.mjs', service.url, TOKEN);
  }

  it.each([
    ['the JSON.rawJSON of this Node, if it has one', ''],
    ['no JSON.rawJSON', 'delete JSON.rawJSON;\n'],
  ])('creates a plant with an exact id, with %s', async (_what, preparation) => {
    const call = CALL.replace(/await .*(?=;)/, 'console.log(JSON.stringify($&))');

    expect(JSON.parse(await runClient(preparation + call))).toEqual({ name: 'Monstera', tag: 'indoor' });
    expect(await service.rows()).toEqual([PLANT]);
  });

  it('sends the plant again after error 503', async () => {
    verifier.isInterrupted = true;
    await runClient(CALL);

    expect(verifier.isInterrupted).toBe(false);
    expect(await service.rows()).toEqual([PLANT]);
  });

  it('throws the number and the message of a refusal', async () => {
    const call = "await createPlant(baseUrl, token, { id: '1' }).catch(({ message }) => console.log(message));";

    expect(await runClient(call)).toMatch(/^Error 422: id must be an integer/);
  });
});

describe('A client that is generated with openapi-typescript', () => {
  const SECTION = 'A generated client in TypeScript';

  const TYPE_CHECKS = `
const name: string | undefined = data?.name;
const number: number | undefined = error?.error;
// @ts-expect-error The table of errors has no 418.
if (number === undefined && error?.error === 418) throw new Error();
console.log(JSON.stringify({ name, number }));
`;

  const SETTINGS = ['--strict', '--noEmit', '--allowJs', '--skipLibCheck', '--target', 'esnext', '--module', 'esnext'];

  it('creates a plant with an exact id, and has the types of the answers', async () => {
    symlinkSync(join(ROOT, 'node_modules'), directory.file('node_modules'));
    const { management } = await directory.startManaged();
    // npx would look for the packages in the registry if they were missing.
    const command = GUIDE.blockIn(SECTION, 'sh').replace('npx ', `${BINARIES}/`);
    await run('sh', '-ec', command.replace('http://127.0.0.1:3001', management));
    directory.write('to-json.js', LIBRARY);
    const [imports = '', ...sample] = GUIDE.blockIn(SECTION, 'ts').split('\n\n');
    const parameters = "const [baseUrl = '', token = ''] = process.argv.slice(2);";
    directory.write('client.ts', [imports, parameters, ...sample, TYPE_CHECKS].join('\n\n'));

    await run(join(BINARIES, 'tsc'), ...SETTINGS, '--moduleResolution', 'bundler', '--types', 'node', 'client.ts');
    await run(join(BINARIES, 'rolldown'), 'client.ts', '--file', 'client.mjs', '--platform', 'node');
    const answer = await run(process.execPath, 'client.mjs', service.url, TOKEN);

    expect(JSON.parse(answer)).toEqual({ name: 'Monstera' });
    expect(await service.rows()).toEqual([PLANT]);
  });
});
