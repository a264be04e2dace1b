import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { TOKEN } from '../support/client.js';
import { Paper, ROOT } from '../support/paper.js';
import { type Service, startService } from '../support/service.js';

const BINARIES = join(ROOT, 'node_modules/.bin');
const GUIDE = new Paper('docs/clients.md');
const MONSTERA = { id: 9007199254740993n, name: 'Monstera', tag: 'indoor' };

let directory: string;
let service: Service;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
  symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
  cpSync(join(ROOT, 'contract'), join(directory, 'contract'), { recursive: true });
  service = await startService();
});

afterEach(async () => {
  await service.close();
  rmSync(directory, { recursive: true });
});

const [LIBRARY = '', CALL = ''] = GUIDE.blocksIn('JavaScript', 'js').map((block) => `${block}\n`);
const GENERATED = 'A generated client in TypeScript';
const ARGUMENTS = 'const [baseUrl, token] = process.argv.slice(2);\n';

function write(file: string, text: string): void {
  writeFileSync(join(directory, file), text);
}

/** Runs a program in the directory, and returns what it prints; one that fails is an error. */
async function run(program: string, ...parameters: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(program, parameters, { cwd: directory });
  return stdout;
}

describe("The guide's JavaScript", () => {
  it.each([
    ['the JSON.rawJSON of this Node, if it has one', ''],
    ['no JSON.rawJSON', 'delete JSON.rawJSON;\n'],
  ])('creates a plant with an exact id, with %s', async (_what, preparation) => {
    write(
      'client.mjs',
      `${LIBRARY}${ARGUMENTS}${preparation}${CALL.replace(/await .*(?=;)/, 'console.log(JSON.stringify($&))')}`,
    );

    expect(JSON.parse(await run(process.execPath, 'client.mjs', service.url, TOKEN))).toEqual({
      name: 'Monstera',
      tag: 'indoor',
    });
    expect(await service.rows()).toEqual([MONSTERA]);
  });

  it('throws the number and the message of a refusal', async () => {
    write(
      'client.mjs',
      `${LIBRARY}${ARGUMENTS}await createPlant(baseUrl, token, { id: '1' }).catch(({ message }) => console.log(message));`,
    );

    expect(await run(process.execPath, 'client.mjs', service.url, TOKEN)).toMatch(/^Error 422: id must be an integer/);
  });
});

describe('A client that is generated with openapi-typescript', () => {
  it('creates a plant with an exact id, and has the types of the answers', async () => {
    const command = GUIDE.blockIn(GENERATED, 'sh');
    const sample = GUIDE.blockIn(GENERATED, 'ts');
    // npx would look for the packages in the registry if they were missing.
    await run('sh', '-ec', command.replace('npx ', `${BINARIES}/`));
    write('to-json.js', LIBRARY);
    write(
      'client.ts',
      `${sample.replace(/(?<=import [^]*;\n)(?=\n)/, `const [baseUrl = '', token = ''] = process.argv.slice(2);\n`)}
    const name: string | undefined = data?.name;
    const number: number | undefined = error?.error;
    // @ts-expect-error The table of errors has no 418.
    if (number === undefined && error?.error === 418) throw new Error();
    console.log(JSON.stringify({ name, number }));`,
    );
    write(
      'tsconfig.json',
      JSON.stringify({
        compilerOptions: {
          strict: true,
          noEmit: true,
          allowJs: true,
          skipLibCheck: true,
          target: 'esnext',
          module: 'esnext',
          moduleResolution: 'bundler',
          types: ['node'],
        },
        files: ['client.ts'],
      }),
    );
    await run(join(BINARIES, 'tsc'));
    await run(join(BINARIES, 'rolldown'), 'client.ts', '--file', 'client.mjs', '--platform', 'node');
    const answer = await run(process.execPath, 'client.mjs', service.url, TOKEN);

    expect(JSON.parse(answer)).toEqual({ name: 'Monstera' });
    expect(await service.rows()).toEqual([MONSTERA]);
  });
});
