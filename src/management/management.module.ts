import { type DynamicModule, Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { GroupCommit } from '../storage/group-commit.js';
import { PlantRepository } from '../storage/plant-repository.js';
import { HealthController } from './health.controller.js';
import { BuildInfo, Metrics } from './metrics.js';
import { MetricsController } from './metrics.controller.js';
import { Readiness } from './readiness.js';

/** Health and metrics of a service. */
@Module({})
export class ManagementModule {
  static register(repository: PlantRepository, groupCommit: GroupCommit, version: string): DynamicModule {
    return {
      module: ManagementModule,
      imports: [TerminusModule.forRoot({ logger: false })],
      controllers: [HealthController, MetricsController],
      providers: [
        Metrics,
        Readiness,
        { provide: PlantRepository, useValue: repository },
        { provide: GroupCommit, useValue: groupCommit },
        { provide: BuildInfo, useValue: { version } },
      ],
    };
  }
}
