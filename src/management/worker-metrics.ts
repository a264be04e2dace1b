import { type Aggregator, AggregatorRegistry, type MetricObjectWithValues, type MetricValue } from 'prom-client';
import { createRegistry } from './metrics.js';

/** The metrics of a process, as `Registry.getMetricsAsJSON` returns them. */
export type ProcessMetrics = MetricObjectWithValues<MetricValue<string>>[];

/** Aggregators of metrics with alerts, which a sum or an average would hide when one process is at its limit. */
const AGGREGATORS: Readonly<Record<string, Aggregator>> = {
  process_start_time_seconds: 'first',
  process_open_fds: 'max',
  process_max_fds: 'max',
  nodejs_eventloop_lag_p99_seconds: 'max',
};

/** The metrics of the primary and its workers, joined: each by its `aggregator`, most of them by summation. */
export class WorkerMetrics {
  readonly #primary = createRegistry();
  /** The counters of workers that have ended. Without them, sums would fall, which Prometheus takes for a restart. */
  #ended: Promise<ProcessMetrics> = Promise.resolve([]);

  /** Keeps the counters of a worker that has ended. */
  keep(metrics: ProcessMetrics): void {
    const counters = metrics.filter(({ type }) => ['counter', 'histogram'].includes(String(type)));
    this.#ended = this.#ended.then((sums) => AggregatorRegistry.aggregate([sums, counters]).getMetricsAsJSON());
  }

  /** Returns the text for Prometheus. */
  async join(workers: readonly ProcessMetrics[]): Promise<string> {
    const [own, ended] = await Promise.all([this.#primary.getMetricsAsJSON(), this.#ended]);
    // The aggregator of the first process counts.
    const first = own.map((metric) => ({ ...metric, aggregator: AGGREGATORS[metric.name] ?? metric.aggregator }));
    return AggregatorRegistry.aggregate([first, ...workers, ended]).metrics();
  }
}
