import { type DynamicModule, Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { GroupCommit } from '../storage/group-commit.js';
import { PlantRepository } from '../storage/plant-repository.js';
import { HealthController } from './health.controller.js';
import { IndexController } from './index.controller.js';
import { BuildInfo, Expiries, Metrics } from './metrics.js';
import { MetricsController } from './metrics.controller.js';
import { Readiness } from './readiness.js';
import { StoredPlants } from './stored-plants.js';

/** The parts of the public application that its operator sees. */
export interface ManagedService {
  readonly repository: PlantRepository;
  readonly groupCommit: GroupCommit;
  readonly expiries: Expiries;
  /** The version of the program. */
  readonly version: string;
}

/** Health and metrics of a service. */
@Module({})
export class ManagementModule {
  static register(service: ManagedService): DynamicModule {
    return {
      module: ManagementModule,
      imports: [TerminusModule.forRoot({ logger: false })],
      controllers: [IndexController, HealthController, MetricsController],
      providers: [
        Metrics,
        Readiness,
        StoredPlants,
        { provide: PlantRepository, useValue: service.repository },
        { provide: GroupCommit, useValue: service.groupCommit },
        { provide: Expiries, useValue: service.expiries },
        { provide: BuildInfo, useValue: { version: service.version } },
      ],
    };
  }
}
