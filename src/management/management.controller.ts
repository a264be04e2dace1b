import { Controller, Get, Header, Redirect } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';
import { Registry } from 'prom-client';
import { ManagedService } from './managed-service.js';
import { OpenApiDocument } from './openapi-document.js';
import { Readiness } from './readiness.js';

/** Leads a browser to the docs page, serves the contract that it shows, and answers Prometheus. */
@Controller()
export class ManagementController {
  constructor(
    private readonly service: ManagedService,
    private readonly document: OpenApiDocument,
    private readonly readiness: Readiness,
  ) {}

  @Get()
  @Redirect('docs')
  open(): void {
    return;
  }

  @Get('openapi.json')
  contract(): OpenAPIObject {
    return this.document.get();
  }

  @Get('metrics')
  @Header('Content-Type', Registry.PROMETHEUS_CONTENT_TYPE)
  async metrics(): Promise<string> {
    // Joined as texts: `Registry.merge` takes registries, and those of workers are in other processes.
    return (await Promise.all([this.service.metrics(), this.readiness.metrics()])).join('\n');
  }
}
