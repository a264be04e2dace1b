import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { changeTokenFile } from '../../src/auth/token-file.js';
import { acquireLock } from '../../src/files/lock-file.js';
import { TOKEN } from '../support/client.js';
import { ServiceDirectory } from '../support/service-directory.js';
import { line } from '../support/token-file.js';

let directory: ServiceDirectory;
let file: string;
let lock: string;

beforeEach(() => {
  directory = new ServiceDirectory();
  file = directory.write('tokens', line('ci', TOKEN));
  lock = directory.file('tokens.lock');
});

afterEach(() => directory.remove());

function create(name: string): Promise<{ status: number | null; stderr: string }> {
  return directory.run('token', ['create', '--name', name, '--file', 'tokens']);
}

function names(): string[] {
  return readFileSync(file, 'utf8').match(/^[\w-]+/gm) ?? [];
}

/** Returns the lock of this process with other parts. */
async function lockOfThisProcess(change: (text: string) => string): Promise<string> {
  const release = await acquireLock(lock, 0);
  const text = change(readFileSync(lock, 'utf8'));
  release?.();
  return text;
}

/** Returns the number of a process that has ended. */
async function endedProcess(): Promise<number> {
  const child = spawn('true');
  await once(child, 'close');
  return child.pid ?? NaN;
}

describe('The lock of a token file', () => {
  it.each<[string, (text: string) => string | Promise<string>]>([
    ['that has ended', async (text) => text.replace(/process \d+/, `process ${await endedProcess()}`)],
    ['whose number belongs to another process now', (text) => text.replace(/\d+\n/, '1\n')],
    ['of the time before the machine was started again', (text) => text.replace(/[\da-f-]{36}/, 'another-boot')],
  ])('is taken over from a process %s, by one of several commands at a time', async (_, change) => {
    const text = await lockOfThisProcess((own) => own);
    writeFileSync(lock, await change(text));

    const others = Array.from({ length: 4 }, (_name, index) => `ci-${index}`);
    expect((await Promise.all(others.map(create))).map(({ stderr, status }) => [status, stderr.split(' ')[0]])).toEqual(
      others.map((name) => [0, name]),
    );
    expect(names().sort()).toEqual(['ci', ...others]);
    expect(readdirSync(directory.path)).toEqual(['tokens']);
  });

  it('is taken over even if another command was killed while it took it over', async () => {
    const text = await lockOfThisProcess((own) => own.replace(/\d+\n/, '1\n'));
    for (const name of [lock, `${lock}.takeover`]) writeFileSync(name, text);

    expect(await create('other')).toMatchObject({ status: 0 });
    expect(readdirSync(directory.path)).toEqual(['tokens']);
  });

  it.each<[string, (text: string) => string]>([
    ['of a process that runs', (own) => own],
    ['of another machine or container', (own) => own.replace(hostname(), 'elsewhere').replace(/\d+\n/, '1\n')],
    ['that names no owner', () => ''],
  ])('%s stops a command, whose message names it', async (_, change) => {
    writeFileSync(lock, await lockOfThisProcess(change));

    const { status, stderr } = await create('other');

    expect(status).toBe(1);
    expect(stderr).toMatch(/^plant-store: \S*tokens\.lock exists: wait for the other command, or remove it/);
    expect(names()).toEqual(['ci']);
    expect(existsSync(lock)).toBe(true);
  });

  it('has one owner at a time, even if its owner is killed', async () => {
    // Each child holds the lock until it is killed.
    const module = JSON.stringify(new URL('../../dist/files/lock-file.js', import.meta.url).href);
    const program = `const { acquireLock } = await import(${module}); await acquireLock(${JSON.stringify(lock)}, 60_000); console.log('acquired'); setInterval(() => undefined, 1_000);`;
    const children = Array.from({ length: 6 }, () => {
      const child = spawn(process.execPath, ['--input-type=module', '-e', program]);
      return { child, acquired: once(child.stdout, 'data').then(() => child) };
    });
    const waiting = new Set(children);
    while (waiting.size > 0) {
      const owner = await Promise.race([...waiting].map(({ acquired }) => acquired));
      expect(readFileSync(lock, 'utf8')).toContain(` process ${owner.pid} `);
      const entry = children.find(({ child }) => child === owner);
      if (entry !== undefined) waiting.delete(entry);
      owner.kill('SIGKILL');
      await once(owner, 'close');
    }

    await changeTokenFile(file, (text) => text + line('last', 'last'));
    expect(names()).toEqual(['ci', 'last']);
    expect(readdirSync(directory.path)).toEqual(['tokens']);
  });
});
