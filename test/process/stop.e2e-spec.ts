import { closeSync, constants, openSync, readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { CREATED, create } from '../support/client.js';
import { MAIN } from '../support/command.js';
import { importing } from '../support/node-process.js';
import { reservePort } from '../support/ports.js';
import { ask, openRequest } from '../support/raw-client.js';
import { ServiceDirectory, type Variables, WITH_TOKEN } from '../support/service-directory.js';
import { ON_TERMINAL } from '../support/terminal.js';
import { until } from '../support/until.js';

const directory = ServiceDirectory.ofEachTest();

/** With a request in flight that never ends, only a second signal can end the service in time. */
const VARIABLES: Variables = { ...WITH_TOKEN, SHUTDOWN_TIMEOUT: '60m', REQUEST_TIMEOUT: '60m' };

/** Milliseconds to spare for a busy machine. */
const IN_TIME = 20_000;

/** A service whose log has no reader any more. */
interface Unread {
  readonly pid: number;
  /** {base_url}. */
  readonly url: string;
  /** Sends the first signal. */
  readonly begin: () => void;
}

/** Starts a service whose log is a pipe that nothing reads any more. */
async function withoutReader(name: string): Promise<Unread> {
  const shell = `mkfifo ${name} && (head -n 2 ${name} &) && exec "$@" > ${name}`;
  const { service, url } = await directory.start(VARIABLES, { wrapper: ['sh', '-c', shell, 'sh'] });
  await until('the reader has ended', () => {
    try {
      closeSync(openSync(directory.file(name), constants.O_WRONLY | constants.O_NONBLOCK));
      return false;
    } catch {
      return true;
    }
  });
  return { pid: service.pid ?? 0, url, begin: () => service.signal('SIGTERM') };
}

/** Starts a service whose log is a full pipe, with a reader that has stopped. */
async function withStoppedReader(name: string, variables = VARIABLES): Promise<Unread> {
  const shell = `mkfifo ${name} && exec 3<>${name} && head -c 65536 /dev/zero >&3 && exec "$@" > ${name}`;
  const reserved = reservePort();
  const url = `http://127.0.0.1:${reserved.port}`;
  const wrapper = ['sh', '-c', shell, 'sh'];
  const service = directory.launch({ ...variables, PORT: `${reserved.port}` }, { wrapper });
  await until('the service listens', async () => (await ask(url).catch(() => 0)) === 200);
  reserved.free();
  return { pid: service.pid ?? 0, url, begin: () => service.signal('SIGTERM') };
}

/** Starts a service on a terminal, which closes: the kernel then sends SIGHUP. */
async function onClosedTerminal(): Promise<Unread> {
  const terminal = directory.launch(VARIABLES, ON_TERMINAL);
  const url = await terminal.printed(/Listening: POST (\S+)\/plants/);
  const [pid = 0] = terminal.children();
  return { pid, url, begin: () => terminal.signal('SIGKILL') };
}

describe('A service that is idle', () => {
  it('ends with status 0, and prints no warning and no deprecation of Node', async () => {
    const { service, url, management } = await directory.startManaged({ NODE_OPTIONS: '--pending-deprecation' });
    expect(await create(url)).toEqual(CREATED);
    for (const path of ['health/ready', 'metrics', 'docs']) {
      expect((await fetch(`${management}/${path}`)).status).toBe(200);
    }

    expect({ status: await service.stop(), stderr: service.stderr }).toEqual({ status: 0, stderr: '' });
  });

  it('ends with status 0 while SIGHUP arrives', async () => {
    const { service } = await directory.start();

    service.signal('SIGTERM');
    await until('it has ended', () => {
      service.signal('SIGHUP');
      return service.child.exitCode !== null || service.child.signalCode !== null;
    });

    expect(await service.ended).toBe(0);
  });
});

describe('A service that cannot close in order', () => {
  it('says why in the log, and ends with status 1', async () => {
    const broken = importing(`
      const { Server } = await import('node:net');
      const { close } = Server.prototype;
      Server.prototype.close = function () {
        Server.prototype.close = close;
        throw new Error('it is still open');
      };`);
    const { service } = await directory.start({ ...WITH_TOKEN, ...broken });

    expect(await service.stop()).toBe(1);
    expect(service.lines.at(-1)).toMatch(/"level":"error".*"The service could not close in order: .*it is still open"/);
  });

  it('says so of the store, too', async () => {
    const repository = pathToFileURL(MAIN.replace('main.js', 'storage/sqlite/repository.js')).href;
    const broken = importing(`
      const { SqliteRepository } = await import('${repository}');
      SqliteRepository.prototype.close = async () => {
        throw new Error('the disk is full');
      };`);
    const { service } = await directory.start({ ...WITH_TOKEN, ...broken });

    expect(await service.stop()).toBe(1);
    expect(service.lines.at(-1)).toMatch(/"level":"error".*"The service could not close in order: .*the disk is full"/);
  });
});

describe('A service ends in time after two signals, the second one 0 or 10 ms after the first, if its log is', () => {
  it.each([
    ['a pipe without a reader', withoutReader],
    ['a full pipe whose reader has stopped', withStoppedReader],
    ['a terminal that has closed', onClosedTerminal],
  ])('%s', async (_what, start) => {
    await Promise.all(
      [0, 10].map(async (distance) => {
        const { pid, url, begin } = await start(`log-${distance}`);
        const { socket } = await openRequest(url);
        begin();
        await wait(distance);
        if (isRunning(pid)) process.kill(pid, 'SIGINT');

        const signalled = performance.now();
        await until('the service has ended', () => !isRunning(pid));
        expect(performance.now() - signalled).toBeLessThan(IN_TIME);
        socket.destroy();
      }),
    );
  });

  it('a full pipe, and the second signal does not come', async () => {
    const { pid, begin } = await withStoppedReader('log', { ...VARIABLES, SHUTDOWN_TIMEOUT: '2s' });

    begin();

    await until('the service has ended', () => !isRunning(pid));
  });
});

function isRunning(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
}
