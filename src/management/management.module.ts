import { type DynamicModule, Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { DocsController } from './docs.controller.js';
import { HealthController } from './health.controller.js';
import { ManagedService } from './managed-service.js';
import { MetricsController } from './metrics.controller.js';
import { OpenApiDocument } from './openapi-document.js';

/** Health, metrics and contract of a service. */
@Module({})
export class ManagementModule {
  static register(service: ManagedService): DynamicModule {
    return {
      module: ManagementModule,
      imports: [TerminusModule.forRoot({ logger: false })],
      controllers: [DocsController, HealthController, MetricsController],
      providers: [OpenApiDocument, { provide: ManagedService, useValue: service }],
    };
  }
}
