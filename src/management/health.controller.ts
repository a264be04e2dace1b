import { Controller, Get } from '@nestjs/common';
import {
  HealthCheck,
  type HealthCheckResult,
  HealthCheckService,
  type HealthIndicatorResult,
  HealthIndicatorService,
} from '@nestjs/terminus';
import { ManagedService } from './managed-service.js';

/** Answers the probes of load balancers and supervisors. */
@Controller('health')
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly indicators: HealthIndicatorService,
    private readonly service: ManagedService,
  ) {}

  /** Answers 200. A supervisor restarts a process that does not answer. */
  @Get('live')
  @HealthCheck()
  live(): Promise<HealthCheckResult> {
    return this.health.check([]);
  }

  /** Answers 200 if the service takes plants, or 503 with the reason, which Terminus also logs. */
  @Get('ready')
  @HealthCheck()
  ready(): Promise<HealthCheckResult> {
    return this.health.check([() => this.#checkService()]);
  }

  async #checkService(): Promise<HealthIndicatorResult> {
    const indicator = this.indicators.check('service');
    try {
      await this.service.assertReady();
      return indicator.up();
    } catch (error) {
      return indicator.down((error as Error).message);
    }
  }
}
