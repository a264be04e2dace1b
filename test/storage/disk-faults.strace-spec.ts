/**
 * Injects faults of the disk into the system calls of the service. Run it with npm run test:faults: it needs strace and
 * the permission to trace.
 */
import { TOKEN } from '../support/client.js';
import { storeFrom, violationsIn } from '../support/history.js';
import { report } from '../support/report.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';
import { Workload } from '../support/workload.js';

const OPERATIONS = 5_000;

describe('A disk', () => {
  const directory = ServiceDirectory.ofEachTest();

  it.each([
    ['fails every tenth fsync', 'fsync', 'error=EIO:when=10+10', [409, 503], true],
    ['fails every tenth write', 'pwrite64', 'error=EIO:when=10+10', [409, 503], false],
    ['is full three times in a row', 'pwrite64', 'error=ENOSPC:when=100..300+3', [409, 503], true],
    ['becomes read-only', 'pwrite64', 'error=EROFS:when=500+', [409, 503], false],
    ['is read-only for a while', 'pwrite64', 'error=EROFS:when=500..600', [409, 503], true],
    ['takes 5 ms for an fsync', 'fsync', 'delay_enter=5000', [409], true],
  ])('that %s loses no acknowledged plant', async (fault, call, injection, errors, recovers) => {
    // strace -P needs the write-ahead log to exist, and a running service keeps it.
    const first = await directory.start();
    const log = directory.file('data/plants.db-wal');
    const files = ['-P', log, '-P', directory.file('data/plants.db')];
    // With -D, the service itself is the child, and gets the signal.
    const strace = ['strace', '-D', '-f', '-qq', '-o', '/dev/null', ...files, '-e', `trace=${call}`];
    const wrapper = [...strace, '-e', `inject=${call}:${injection}`];
    const { service, url } = await directory.start(WITH_TOKEN, { wrapper });
    await first.service.stop();

    const workload = new Workload(() => url, { token: TOKEN, clients: 32, seed: 4 });
    await workload.operations(OPERATIONS);
    if (recovers) await workload.acknowledged(100);
    await workload.stop();
    await service.stop('SIGKILL');

    const rows = directory.rows();
    report(`A disk that ${fault}: ${JSON.stringify(workload.counts)}, ${rows.length} plants stored`);
    expect(violationsIn(workload.history, storeFrom(rows))).toEqual([]);
    expect([...workload.errors.keys()].sort()).toEqual(errors);
  });
});
