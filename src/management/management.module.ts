import { type DynamicModule, Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { HealthController } from './health.controller.js';
import { ManagedService } from './managed-service.js';
import { ManagementController } from './management.controller.js';
import { OpenApiDocument } from './openapi-document.js';
import { Readiness } from './readiness.js';

/** Health, metrics and contract of a service. */
@Module({})
export class ManagementModule {
  static register(service: ManagedService): DynamicModule {
    return {
      module: ManagementModule,
      imports: [TerminusModule.forRoot({ logger: false })],
      controllers: [HealthController, ManagementController],
      providers: [OpenApiDocument, Readiness, { provide: ManagedService, useValue: service }],
    };
  }
}
