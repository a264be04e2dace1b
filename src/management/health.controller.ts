import { Controller, Get } from '@nestjs/common';
import { HealthCheck, type HealthCheckResult, HealthCheckService, HealthIndicatorService } from '@nestjs/terminus';
import { Readiness } from './readiness.js';

/** The documentation is off, because Terminus would load a second copy of @nestjs/swagger for it. */
const HEALTH_CHECK = { noCache: true, swaggerDocumentation: false };

/** Answers the probes of load balancers and supervisors. */
@Controller('health')
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly indicators: HealthIndicatorService,
    private readonly readiness: Readiness,
  ) {}

  /** Answers 200. A supervisor restarts a process that does not answer. */
  @Get('live')
  @HealthCheck(HEALTH_CHECK)
  live(): Promise<HealthCheckResult> {
    return this.health.check([]);
  }

  /** Answers 200 if the service takes plants, or 503 with the checks that failed and the reasons. */
  @Get('ready')
  @HealthCheck(HEALTH_CHECK)
  async ready(): Promise<HealthCheckResult> {
    const checks = Object.entries(await this.readiness.check());
    return this.health.check(
      checks.map(([name, failure]) => () => {
        const indicator = this.indicators.check(name);
        return failure === undefined ? indicator.up() : indicator.down(failure);
      }),
    );
  }
}
