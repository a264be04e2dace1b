import { type DynamicModule, Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { PlantRepository } from '../storage/plant-repository.js';
import { HealthController } from './health.controller.js';
import { IndexController } from './index.controller.js';
import { BuildInfo, Metrics, PlantQueue } from './metrics.js';
import { MetricsController } from './metrics.controller.js';
import { Readiness } from './readiness.js';
import { Expiries, ServiceGauges } from './service-gauges.js';
import { WorkerMetrics, Workers } from './worker-metrics.js';

/** The parts of a service that its operator sees. */
export interface ManagedService {
  readonly repository: PlantRepository;
  readonly queue: PlantQueue;
  readonly expiries: Expiries;
  /** The processes that serve the public port, if it is not this one. */
  readonly workers: Workers | undefined;
  /** The version of the program. */
  readonly version: string;
}

/** Health and metrics of a service. */
@Module({})
export class ManagementModule {
  static register({ repository, queue, expiries, workers, version }: ManagedService): DynamicModule {
    return {
      module: ManagementModule,
      imports: [TerminusModule.forRoot({ logger: false })],
      controllers: [IndexController, HealthController, MetricsController],
      providers: [
        Metrics,
        Readiness,
        ServiceGauges,
        { provide: PlantRepository, useValue: repository },
        { provide: PlantQueue, useValue: queue },
        { provide: Expiries, useValue: expiries },
        { provide: BuildInfo, useValue: { version } },
        ...(workers === undefined ? [] : [WorkerMetrics, { provide: Workers, useValue: workers }]),
      ],
    };
  }
}
