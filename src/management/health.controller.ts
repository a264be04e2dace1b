import { Controller, Get } from '@nestjs/common';
import { HealthCheck, type HealthCheckResult, HealthCheckService, HealthIndicatorService } from '@nestjs/terminus';
import { ManagedService } from './managed-service.js';

/** Milliseconds for which a check of the store counts, so that frequent probes do not delay plants. */
const STORE_CHECK_INTERVAL = 1_000;

/** With documentation, Terminus would load a second copy of @nestjs/swagger beside the bundled one. */
const HEALTH_CHECK = { noCache: true, swaggerDocumentation: false };

/** Answers the probes of load balancers and supervisors. */
@Controller('health')
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly indicator: HealthIndicatorService,
    private readonly service: ManagedService,
  ) {}

  /** Answers 200 as long as the process can answer at all; a supervisor restarts it otherwise. */
  @Get('live')
  @HealthCheck(HEALTH_CHECK)
  live(): Promise<HealthCheckResult> {
    return this.health.check([]);
  }

  /** Answers 200 if the service takes requests, or 503 with the check that failed. */
  @Get('ready')
  @HealthCheck(HEALTH_CHECK)
  ready(): Promise<HealthCheckResult> {
    const { obstacle, repository } = this.service;
    const service = this.indicator.check('service');
    return this.health.check([
      () => (obstacle === undefined ? service.up() : service.down(obstacle)),
      this.indicator
        .check('store')
        .attempt(() => repository.check())
        .cacheFor(STORE_CHECK_INTERVAL),
    ]);
  }
}
