import { Metrics } from './metrics.js';
import { type ProcessMetrics, WorkerMetrics } from './worker-metrics.js';

/** Returns what a worker with a waiting plant sends, whose next token expires in so many days. */
function sent(days: number): Promise<ProcessMetrics> {
  const metrics = new Metrics('1.2.3', {
    queueDepth: () => 1,
    certificateExpiry: () => undefined,
    tokenExpiry: () => new Date(Date.now() + days * 86_400_000),
    tokenFileRead: () => undefined,
  });
  return metrics.registry.getMetricsAsJSON();
}

/** Returns the value of a series; NaN if it is missing. */
function valueOf(text: string, series: string): number {
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1) ?? NaN);
}

describe('The metrics of several workers', () => {
  it('are their sums, but the least time until an expiry and the start of the primary', async () => {
    const text = await new WorkerMetrics().join([await sent(3), await sent(2)]);

    expect(valueOf(text, 'plant_store_queue_depth_plants')).toBe(2);
    expect(valueOf(text, `plant_store_build_info{version="1.2.3",node="${process.versions.node}"}`)).toBe(1);
    expect(valueOf(text, 'plant_store_token_expiry_seconds') / 86_400).toBeCloseTo(2, 2);
    expect(text).not.toMatch(/^plant_store_certificate_expiry_seconds /m);
    expect(valueOf(text, 'process_start_time_seconds')).toBeLessThanOrEqual(Date.now() / 1_000);
  });
});
