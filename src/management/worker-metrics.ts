import { Injectable } from '@nestjs/common';
import {
  type Aggregator,
  AggregatorRegistry,
  type MetricObjectWithValues,
  type MetricValue,
  type Registry,
} from 'prom-client';

/** The metrics of a process, as `Registry.getMetricsAsJSON` returns them. */
export type ProcessMetrics = MetricObjectWithValues<MetricValue<string>>[];

/** Aggregators of metrics with alerts, which a sum or an average would hide when one process is at its limit. */
const AGGREGATORS: Readonly<Record<string, Aggregator>> = {
  process_start_time_seconds: 'first',
  process_open_fds: 'max',
  process_max_fds: 'max',
  nodejs_eventloop_lag_p99_seconds: 'max',
};

/** The workers of a service; the class is also the injection token. */
export abstract class Workers {
  /** True while one of them listens on the public port. */
  abstract readonly isListening: boolean;
  /** Returns the metrics of each worker that listens, by its id, which no later worker gets. */
  abstract metrics(): Promise<ReadonlyMap<number, ProcessMetrics>>;
}

/** The metrics of the primary and its workers, joined: each by its `aggregator`, most of them by summation. */
@Injectable()
export class WorkerMetrics {
  #last: ReadonlyMap<number, ProcessMetrics> = new Map();
  /** The counters of workers that have ended. Without them, sums would fall, which Prometheus takes for a restart. */
  #ended: ProcessMetrics = [];
  #reading: Promise<unknown> = Promise.resolve();
  /** The reading that begins after the one in progress. */
  #next: Promise<string> | undefined;

  constructor(private readonly workers: Workers) {}

  /**
   * Returns the text for Prometheus.
   *
   * @param primary the metrics of this process, which come first
   */
  join(primary: Registry): Promise<string> {
    // One after another, so that the counters of a worker that has ended are added once. Scrapes share the next reading:
    // while a worker does not answer, each reading takes a second.
    if (this.#next === undefined) {
      this.#next = this.#reading.then(() => {
        this.#next = undefined;
        return this.#join(primary);
      });
      this.#reading = this.#next.catch(() => undefined);
    }
    return this.#next;
  }

  async #join(primary: Registry): Promise<string> {
    const current = await this.workers.metrics();
    const ended = [...this.#last].flatMap(([worker, metrics]) => (current.has(worker) ? [] : [countersIn(metrics)]));
    if (ended.length > 0) this.#ended = await AggregatorRegistry.aggregate([this.#ended, ...ended]).getMetricsAsJSON();
    this.#last = current;
    // The aggregator of the first process counts.
    const own = (await primary.getMetricsAsJSON()).map((metric) => ({
      ...metric,
      aggregator: AGGREGATORS[metric.name] ?? metric.aggregator,
    }));
    const all = [own, ...current.values(), this.#ended];
    return AggregatorRegistry.aggregate(all).metrics();
  }
}

function countersIn(metrics: ProcessMetrics): ProcessMetrics {
  return metrics.filter(({ type }) => ['counter', 'histogram'].includes(String(type)));
}
