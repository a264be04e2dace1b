import { Controller, Get, Header } from '@nestjs/common';
import { HealthCheck, type HealthCheckResult, HealthCheckService, HealthIndicatorService } from '@nestjs/terminus';
import { Registry } from 'prom-client';
import { Metrics } from './metrics.js';
import { Readiness } from './readiness.js';

/** Milliseconds that a look at the store is good for: probes, however many, are not to keep plants waiting. */
const STORE_CHECK_INTERVAL = 1_000;

/** No part of the OpenAPI document: Terminus would load another copy of what makes it. */
const HEALTH_CHECK = { noCache: true, swaggerDocumentation: false };

/** What the management listener answers, with the statuses of HTTP: it is not the contract. */
@Controller()
export class ManagementController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly indicator: HealthIndicatorService,
    private readonly readiness: Readiness,
    private readonly metrics: Metrics,
  ) {}

  /** Whether the process is to be left alone: 200 as long as it can answer at all. */
  @Get('health/live')
  @HealthCheck(HEALTH_CHECK)
  live(): Promise<HealthCheckResult> {
    return this.health.check([]);
  }

  /** Whether to send requests here: 200, or 503 with the check that failed. */
  @Get('health/ready')
  @HealthCheck(HEALTH_CHECK)
  ready(): Promise<HealthCheckResult> {
    return this.health.check([
      () => {
        const service = this.indicator.check('service');
        return this.readiness.isShuttingDown ? service.down('it is shutting down') : service.up();
      },
      this.indicator
        .check('store')
        .attempt(() => this.readiness.repository.check())
        .cacheFor(STORE_CHECK_INTERVAL),
    ]);
  }

  /** In the text format of Prometheus, version 0.0.4. */
  @Get('metrics')
  @Header('Content-Type', Registry.PROMETHEUS_CONTENT_TYPE)
  @Header('Cache-Control', 'no-store')
  prometheus(): Promise<string> {
    return this.metrics.registry.metrics();
  }
}
