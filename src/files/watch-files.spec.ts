import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inTime } from '../../test/support/until.js';
import { watchFiles } from './watch-files.js';

describe('watchFiles', () => {
  const directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
  const files = ['first', 'second'].map((name) => join(directory, name));
  let calls = 0;
  let called: () => void;
  let stop: () => void;

  /** Waits for the next call. */
  function nextCall(): Promise<void> {
    const next = new Promise<void>((resolve) => (called = resolve));
    return inTime(next, () => 'a change is reported');
  }

  beforeEach(async () => {
    for (const file of files) writeFileSync(file, '');
    calls = 0;
    const first = nextCall();
    stop = watchFiles(files, () => {
      calls += 1;
      called();
    });
    // A file may have changed between being read and being watched.
    await first;
  });

  afterEach(() => stop());

  afterAll(() => rmSync(directory, { recursive: true }));

  it('reports each change of each file', async () => {
    for (const file of files) {
      for (const text of ['x', 'xx']) {
        const reported = nextCall();
        writeFileSync(file, text);
        await reported;
      }
    }
    expect(calls).toBe(1 + 4);
  });

  it('also reports a file that changes all the time, and waits for a part of a second each time', async () => {
    let text = '';
    const writing = setInterval(() => files.forEach((file) => writeFileSync(file, (text += 'x'))), 10);
    const began = performance.now();
    for (let reports = 0; reports < 3; reports += 1) await nextCall();
    clearInterval(writing);

    expect(calls).toBe(1 + 3);
    // Node's timers may be a millisecond early.
    expect(performance.now() - began).toBeGreaterThan(3 * 399);
  });

  it('reports nothing after it is stopped', async () => {
    const other = join(directory, 'other');
    writeFileSync(other, '');
    stop();
    writeFileSync(files[0] ?? '', 'changed');
    const begun = nextCall();
    const stopOther = watchFiles([other], () => called());
    await begun;
    const changed = nextCall();
    writeFileSync(other, 'changed later');
    await changed;
    stopOther();

    expect(calls).toBe(1);
  });
});
