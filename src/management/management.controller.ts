import { Controller, Get, Header, Redirect } from '@nestjs/common';
import { Registry } from 'prom-client';
import { ManagedService } from './managed-service.js';
import { OpenApiDocument } from './openapi-document.js';

/** Leads a browser to the docs page, serves the contract that it shows, and answers Prometheus. */
@Controller()
export class ManagementController {
  constructor(
    private readonly service: ManagedService,
    private readonly document: OpenApiDocument,
  ) {}

  @Get()
  @Redirect('docs')
  open(): void {
    return;
  }

  @Get('openapi.json')
  @Header('Content-Type', 'application/json')
  contract(): string {
    return this.document.toJson();
  }

  @Get('metrics')
  @Header('Content-Type', Registry.PROMETHEUS_CONTENT_TYPE)
  metrics(): Promise<string> {
    return this.service.metrics();
  }
}
