import { Controller, Get } from '@nestjs/common';
import {
  HealthCheck,
  type HealthCheckResult,
  HealthCheckService,
  type HealthIndicatorResult,
  HealthIndicatorService,
} from '@nestjs/terminus';
import { Readiness, type ReadinessChecks } from './readiness.js';

/** With documentation, Terminus would load a second copy of @nestjs/swagger beside the bundled one. */
const HEALTH_CHECK = { noCache: true, swaggerDocumentation: false };

/** Answers the probes of load balancers and supervisors. */
@Controller('health')
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly indicators: HealthIndicatorService,
    private readonly readiness: Readiness,
  ) {}

  /** Answers 200 as long as the process can answer at all; a supervisor restarts it otherwise. */
  @Get('live')
  @HealthCheck(HEALTH_CHECK)
  live(): Promise<HealthCheckResult> {
    return this.health.check([]);
  }

  /** Answers 200 if the service takes plants, or 503 with the checks that failed and the reasons. */
  @Get('ready')
  @HealthCheck(HEALTH_CHECK)
  ready(): Promise<HealthCheckResult> {
    return this.health.check([() => this.#check('service'), () => this.#check('store')]);
  }

  async #check(name: keyof ReadinessChecks): Promise<HealthIndicatorResult> {
    const { [name]: failure } = await this.readiness.check();
    const indicator = this.indicators.check(name);
    return failure === undefined ? indicator.up() : indicator.down(failure);
  }
}
