import { ask } from '../support/raw-client.js';
import { ServiceDirectory, type Variables, WITH_TOKEN } from '../support/service-directory.js';
import { until } from '../support/until.js';
import { importing } from '../support/workers.js';

const TWO: Variables = { ...WITH_TOKEN, WORKERS: '2' };

const directory = ServiceDirectory.ofEachTest();

describe('A worker that the system cannot create at the start', () => {
  it('does not keep the other one from serving, and is replaced', async () => {
    const withoutSecond = importing(
      "import { ChildProcess } from 'node:child_process'; const { spawn } = ChildProcess.prototype; let count = 0;" +
        'ChildProcess.prototype.spawn = function (options) { count += 1;' +
        "return spawn.call(this, count === 2 ? { ...options, file: '/missing' } : options); };",
    );
    const { service, url } = await directory.start({ ...TWO, ...withoutSecond });

    expect(await ask(url)).toBe(200);
    await service.printed(/(Worker 2 has ended, and another one starts: spawn \/missing ENOENT)/);
    await until('there are two workers', () => service.workers().length === 2);
    expect(await service.stop()).toBe(0);
  });
});

describe('A worker for which the system has no memory', () => {
  /** Lets Node throw, as it does for ENOMEM, when it is to create the processes with these numbers. */
  function withoutMemory(...numbers: readonly number[]): Variables {
    return importing(
      "import { ChildProcess } from 'node:child_process'; const { spawn } = ChildProcess.prototype; let count = 0;" +
        'ChildProcess.prototype.spawn = function (options) { count += 1;' +
        `if (!${JSON.stringify(numbers)}.includes(count)) return spawn.call(this, options);` +
        "throw Object.assign(new Error('spawn ENOMEM'), { code: 'ENOMEM', syscall: 'spawn' }); };",
    );
  }

  it('is replaced, also when it is a replacement itself, and the other one serves', async () => {
    const { service, url } = await directory.start({ ...TWO, ...withoutMemory(2, 3) });

    expect(await ask(url)).toBe(200);
    const end = 'Worker \\(not created\\) has ended, and another one starts: spawn ENOMEM';
    await service.printed(new RegExp(`${end}[^]+(${end})`));
    await until('there are two workers', () => service.workers().length === 2);
    expect(await service.stop()).toBe(0);
  });

  it('ends the service with status 1 and its reason if it is the first one', async () => {
    const { status, complaint } = await directory.failedStart({ ...TWO, ...withoutMemory(1) });

    expect(complaint).toBe('plant-store: spawn ENOMEM\n');
    expect(status).toBe(1);
  });
});

describe('A worker for which the system has no file descriptors', () => {
  it('does not delay the stop', async () => {
    const withoutDescriptors = importing(
      "import { ChildProcess } from 'node:child_process'; import { closeSync, openSync } from 'node:fs';" +
        'const { spawn } = ChildProcess.prototype; let count = 0;' +
        'ChildProcess.prototype.spawn = function (options) { count += 1; const taken = [];' +
        "try { if (count === 2) for (;;) taken.push(openSync('/dev/null')); } catch {}" +
        'try { return spawn.call(this, options); } finally { taken.forEach(closeSync); } };',
    );
    const wrapper = ['sh', '-c', 'ulimit -n 256; exec "$@"', 'sh'];
    const variables = { ...TWO, SHUTDOWN_TIMEOUT: '60m', ...withoutDescriptors };
    const { service } = await directory.start(variables, { wrapper });
    await service.printed(/(Worker 2 has ended, and another one starts: spawn \S+ EMFILE)/);

    expect(await service.stop()).toBe(0);
    expect(service.lines.at(-1)).toContain('"message":"Stopped"');
  });
});
