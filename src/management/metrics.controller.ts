import { Controller, Get, Header, Optional } from '@nestjs/common';
import { Registry } from 'prom-client';
import { Metrics } from './metrics.js';
import { WorkerMetrics } from './worker-metrics.js';

/** Answers Prometheus in its text format, version 0.0.4. */
@Controller('metrics')
export class MetricsController {
  constructor(
    private readonly metrics: Metrics,
    /** Present in a service with workers. */
    @Optional() private readonly workers?: WorkerMetrics,
  ) {}

  @Get()
  @Header('Content-Type', Registry.PROMETHEUS_CONTENT_TYPE)
  @Header('Cache-Control', 'no-store')
  read(): Promise<string> {
    const { registry } = this.metrics;
    return this.workers === undefined ? registry.metrics() : this.workers.join(registry);
  }
}
