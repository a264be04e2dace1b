import { ask } from '../support/raw-client.js';
import { ServiceDirectory, type Variables, WITH_TOKEN } from '../support/service-directory.js';
import { until } from '../support/until.js';
import { importing, killWorkers } from '../support/workers.js';

const TWO: Variables = { ...WITH_TOKEN, WORKERS: '2' };

const directory = ServiceDirectory.ofEachTest();

/** Runs code of a test instead of `spawn` for the process with this number. */
function insteadOfProcess(number: number, code: string): Variables {
  return importing(
    "import { ChildProcess } from 'node:child_process'; import { closeSync, openSync } from 'node:fs';" +
      'const { spawn } = ChildProcess.prototype; let count = 0; const taken = [];' +
      'ChildProcess.prototype.spawn = function (options) { count += 1;' +
      `if (count !== ${number}) return spawn.call(this, options); ${code} };`,
  );
}

/** The ways in which Node reports that the system cannot create a process, with the message. */
const FAILURES: readonly (readonly [cause: string, code: string, message: string])[] = [
  ['cannot execute', "return spawn.call(this, { ...options, file: '/missing' });", 'spawn /missing ENOENT'],
  [
    'has no memory for',
    "throw Object.assign(new Error('spawn ENOMEM'), { code: 'ENOMEM', syscall: 'spawn' });",
    'spawn ENOMEM',
  ],
  [
    'has no file descriptors for',
    "try { for (;;) taken.push(openSync('/dev/null')); } catch {}" +
      'try { return spawn.call(this, options); } finally { taken.forEach((descriptor) => closeSync(descriptor)); }',
    'spawn \\S+ EMFILE',
  ],
];

/** With few file descriptors. */
const LIMITED = { wrapper: ['sh', '-c', 'ulimit -n 256; exec "$@"', 'sh'] };

describe.each(FAILURES)('A worker that the system %s', (_cause, code, message) => {
  const line = new RegExp(`"level":"error".*"The system cannot create a worker: ${message}"`);

  it('ends the service with status 1 and its reason if it is the first one', async () => {
    const service = directory.launch({ ...TWO, ...insteadOfProcess(1, code) }, LIMITED);

    expect(await service.ended).toBe(1);
    expect(service.lines.at(-1)).toMatch(line);
    expect(service.stdout).not.toContain('Listening');
    expect(service.stderr).toBe('');
  });

  it('is replaced if it is a replacement itself, while the other one goes on serving', async () => {
    const { service, url } = await directory.start({ ...TWO, ...insteadOfProcess(3, code) }, LIMITED);
    await killWorkers(service, service.workers().slice(1));

    await service.printed(new RegExp(`(${line.source})`));
    expect(await ask(url)).toBe(200);
    await until('there are two workers again', () => service.workers().length === 2);
    expect(service.lines.filter((text) => line.test(text))).toHaveLength(1);
    expect(await service.stop()).toBe(0);
  });

  it('does not delay the stop', async () => {
    const variables = { ...TWO, SHUTDOWN_TIMEOUT: '60m', ...insteadOfProcess(3, code) };
    const { service } = await directory.start(variables, LIMITED);
    await killWorkers(service, service.workers().slice(1));
    await service.printed(new RegExp(`(${line.source})`));

    expect(await service.stop()).toBe(0);
    expect(service.lines.at(-1)).toContain('"message":"Stopped"');
  });
});
