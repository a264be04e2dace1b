import { Controller, Get, Header } from '@nestjs/common';
import { Registry } from 'prom-client';
import { Metrics } from './metrics.js';

/** Answers Prometheus in its text format, version 0.0.4. */
@Controller('metrics')
export class MetricsController {
  constructor(private readonly metrics: Metrics) {}

  @Get()
  @Header('Content-Type', Registry.PROMETHEUS_CONTENT_TYPE)
  @Header('Cache-Control', 'no-store')
  read(): Promise<string> {
    return this.metrics.registry.metrics();
  }
}
