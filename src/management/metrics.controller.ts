import { Controller, Get, Header } from '@nestjs/common';
import { Registry } from 'prom-client';
import { ManagedService } from './managed-service.js';

/** Answers Prometheus. */
@Controller('metrics')
export class MetricsController {
  constructor(private readonly service: ManagedService) {}

  @Get()
  @Header('Content-Type', Registry.PROMETHEUS_CONTENT_TYPE)
  read(): Promise<string> {
    return this.service.metrics();
  }
}
