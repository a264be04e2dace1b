import { mkdtempSync, rmSync, unwatchFile, watchFile, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { watchFiles } from './watch-files.js';

describe('watchFiles', () => {
  const directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
  const file = join(directory, 'file');

  beforeEach(() => {
    writeFileSync(file, '');
    jest.useFakeTimers({ doNotFake: ['Date', 'nextTick', 'queueMicrotask', 'setImmediate', 'setInterval'] });
  });

  afterEach(() => void jest.useRealTimers());

  afterAll(() => rmSync(directory, { recursive: true }));

  /** Rewrites the file until the watcher sees it, and lets 100 ms pass. */
  async function change(): Promise<void> {
    let text = '';
    const rewriting = setInterval(() => writeFileSync(file, (text += 'x')), 10);
    await new Promise<void>((resolve) => {
      const listener = (): void => {
        unwatchFile(file, listener);
        resolve();
      };
      watchFile(file, listener);
    });
    clearInterval(rewriting);
    jest.advanceTimersByTime(100);
  }

  it('waits until a change is complete, and also reports a file that changes all the time', async () => {
    let calls = 0;
    const stop = watchFiles([file], () => (calls += 1));
    const callsAfter: number[] = [];
    for (let changes = 1; changes <= 10; changes += 1) {
      await change();
      callsAfter.push(calls);
    }
    jest.advanceTimersByTime(200);
    callsAfter.push(calls);
    stop();

    // Each call is 400 ms after the first change that it reports.
    expect(callsAfter).toEqual([0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3]);
  });

  it('reports the files once after the start, and nothing after it is stopped', async () => {
    let calls = 0;
    const stop = watchFiles([file], () => (calls += 1));
    jest.advanceTimersByTime(399);
    expect(calls).toBe(0);
    jest.advanceTimersByTime(1);
    expect(calls).toBe(1);
    jest.advanceTimersByTime(60_000);
    expect(calls).toBe(1);

    stop();
    await change();
    jest.advanceTimersByTime(60_000);
    expect(calls).toBe(1);
  });

  it('reports a change of each file within a second', async () => {
    jest.useRealTimers();
    const others = ['second', 'third'].map((name) => join(directory, name));
    for (const other of others) writeFileSync(other, '');
    let changed: () => void = () => undefined;
    const next = (): Promise<void> => new Promise((resolve) => (changed = resolve));
    const first = next();
    const stop = watchFiles(others, () => changed());
    await first;

    for (const other of others) {
      const times: number[] = [];
      // On a busy machine, one of them may take longer.
      for (let attempt = 1; attempt <= 3; attempt += 1) {
        const reported = next();
        const before = performance.now();
        writeFileSync(other, 'x'.repeat(attempt));
        await reported;
        times.push(performance.now() - before);
      }
      expect(Math.min(...times)).toBeLessThan(1_000);
    }
    stop();
  });
});
