import { Counter, Registry } from 'prom-client';
import { type ProcessMetrics, WorkerMetrics, Workers } from './worker-metrics.js';

/** A worker that tells its metrics when a test lets it. */
class SlowWorker extends Workers {
  readonly isListening = true;
  readings = 0;
  tell: () => void = () => undefined;
  readonly #registry = new Registry();
  readonly plants = new Counter({ name: 'plants', help: 'Plants.', registers: [this.#registry] });

  override async metrics(): Promise<ReadonlyMap<number, ProcessMetrics>> {
    this.readings += 1;
    await new Promise<void>((resolve) => (this.tell = resolve));
    return new Map([[1, await this.#registry.getMetricsAsJSON()]]);
  }
}

describe('WorkerMetrics', () => {
  it('reads the workers once for all scrapes that come during a reading, after its end', async () => {
    const worker = new SlowWorker();
    const metrics = new WorkerMetrics(worker);
    const primary = new Registry();

    const first = metrics.join(primary);
    while (worker.readings < 1) await new Promise(setImmediate);
    const others = Array.from({ length: 50 }, () => metrics.join(primary));
    worker.tell();
    expect(await first).toContain('plants 0\n');
    worker.plants.inc();
    while (worker.readings < 2) await new Promise(setImmediate);
    worker.tell();

    for (const text of await Promise.all(others)) expect(text).toContain('plants 1\n');
    expect(worker.readings).toBe(2);
  });
});
