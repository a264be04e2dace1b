/**
 * Looks at the order of system calls: what is not on disk yet must not have its name, and no client its answer. Run it
 * with npm run test:faults: it needs strace and the permission to trace.
 */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { create, created, TOKEN } from '../support/client.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';
import { line } from '../support/token-file.js';

const CREATES = 50;

const directory = ServiceDirectory.ofEachTest();

/** Returns a wrapper that traces these system calls. With -D, the process itself is the child, and gets our signals. */
function tracing(calls: string): string[] {
  return ['strace', '-D', '-f', '-qq', '-yy', '-s', '300', '-e', `trace=${calls}`, '-o', directory.file('trace')];
}

/** Returns the calls in the order of their ends; strace splits a call if another thread makes one meanwhile. */
function calls(): string[] {
  const begun = new Map<string, string>();
  const ended: string[] = [];
  for (const line of readFileSync(directory.file('trace'), 'utf8').split('\n')) {
    const [, thread = '', text = ''] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const [, beginning] = /^(.*) <unfinished \.\.\.>$/.exec(text) ?? [];
    const [, end] = /^<\.\.\. \w+ resumed>(.*)$/.exec(text) ?? [];
    if (beginning !== undefined) begun.set(thread, beginning);
    else ended.push(end === undefined ? text : `${begun.get(thread)}${end}`);
  }
  return ended;
}

describe('An answer 200', () => {
  it('leaves after the write-ahead log was synced', async () => {
    const wrapper = tracing('pwrite64,write,writev,fsync,fdatasync,sendto,sendmsg');
    const { service, url } = await directory.start(WITH_TOKEN, { wrapper });
    for (let id = 1; id <= CREATES; id += 1) expect(await create(url, { id, name: 'a' })).toEqual(created('a'));
    expect(await service.stop()).toBe(0);

    const atAnswers: string[] = [];
    let log = 'as before';
    for (const call of calls()) {
      if (/^pwrite64\(\d+<[^>]*plants\.db-wal>/.test(call)) log = 'written';
      if (log === 'written' && /^f(?:data)?sync\(\d+<[^>]*plants\.db-wal>\) += 0$/.test(call)) log = 'synced';
      if (!call.includes('HTTP/1.1 200')) continue;
      atAnswers.push(log);
      log = 'as before';
    }
    expect(atAnswers).toEqual(Array.from({ length: CREATES }, () => 'synced'));
  });

  it('leaves after the log of a process that was killed was synced, which may have the plant', async () => {
    const plant = { id: 1, name: 'a' };
    const killed = await directory.start();
    expect(await create(killed.url, plant)).toEqual(created('a'));
    await killed.service.stop('SIGKILL');
    const wrapper = tracing('write,writev,fsync,fdatasync,sendto,sendmsg');
    const { service, url } = await directory.start(WITH_TOKEN, { wrapper });
    expect(await create(url, plant)).toEqual(created('a'));
    expect(await service.stop()).toBe(0);

    const until200 = calls().slice(
      0,
      calls().findIndex((call) => call.includes('HTTP/1.1 200')),
    );
    expect(until200).toContainEqual(expect.stringMatching(/^fsync\(\d+<[^>]*plants\.db-wal>\) += 0$/));
  });
});

describe('A file', () => {
  /** Returns what was synced, named and printed, such as `sync plants.ndjson`; drafts have the names of their files. */
  function steps(): string[] {
    return calls().flatMap((call) => {
      const [, synced] = /^f(?:data)?sync\(\d+<([^>]*)>\) += 0$/.exec(call) ?? [];
      const [, named] = /^(?:link|rename)(?:at2?)?\(.*"([^"]*)"[^"]*\) += 0$/.exec(call) ?? [];
      if (call.startsWith('write(1<')) return ['print'];
      if (synced === directory.path) return ['sync the directory'];
      if (synced !== undefined) return [`sync ${basename(synced).replace(/\.[0-9a-f-]{36}$/, '')}`];
      return named === undefined ? [] : [`name ${basename(named)}`];
    });
  }

  beforeEach(() => directory.store([{ id: 1n, name: 'Monstera' }]));

  it.each([
    { command: 'backup', parameters: ['copy.db'], file: 'copy.db' },
    { command: 'export', parameters: ['plants.ndjson'], file: 'plants.ndjson' },
  ])('of $command is on disk before it has its name, and then its name is', async ({ command, parameters, file }) => {
    const wrapper = tracing('fsync,fdatasync,link,linkat,rename,renameat,renameat2');
    expect(await directory.run(command, parameters, {}, '', { wrapper })).toMatchObject({ status: 0 });

    expect(steps().slice(-3)).toEqual([`sync ${file}`, `name ${file}`, 'sync the directory']);
  });

  it('of tokens is on disk when the token is shown', async () => {
    const variables = { ACCESS_TOKENS_FILE: 'tokens' };
    const wrapper = tracing('fsync,fdatasync,link,linkat,rename,renameat,renameat2,write');
    const createToken = async (name: string): Promise<string[]> => {
      const run = await directory.run('token', ['create', '--name', name], variables, '', { wrapper });
      expect(run).toMatchObject({ status: 0 });
      return steps();
    };

    expect(await createToken('first')).toEqual(['sync tokens', 'sync the directory', 'print']);
    expect(await createToken('second')).toEqual(['sync tokens', 'print']);
  });

  it('of tokens is on disk with each directory above it that is new', async () => {
    const wrapper = tracing('fsync,fdatasync,mkdir,mkdirat,write');
    const parameters = ['create', '--name', 'ci', '--file', 'new/newer/tokens'];

    expect(await directory.run('token', parameters, {}, '', { wrapper })).toMatchObject({ status: 0 });
    // A new name is in the directory above it.
    expect(steps()).toEqual(['sync the directory', 'sync new', 'sync tokens', 'sync newer', 'print']);
  });

  it('of tokens is on disk under its name when a token is revoked', async () => {
    directory.write('tokens', line('ci', TOKEN));
    const wrapper = tracing('fsync,fdatasync,link,linkat,rename,renameat,renameat2');

    const run = await directory.run('token', ['revoke', 'ci', '--file', 'tokens'], {}, '', { wrapper });

    expect(run).toMatchObject({ status: 0 });
    expect(steps()).toEqual(['sync tokens', 'name tokens', 'sync the directory']);
  });
});
