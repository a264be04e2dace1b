import { Controller, Get, Header, Redirect } from '@nestjs/common';
import { register } from 'prom-client';

/** Leads a browser to the docs page, and answers Prometheus. */
@Controller()
export class ManagementController {
  @Get()
  @Redirect('docs')
  open(): void {
    return;
  }

  @Get('metrics')
  @Header('Content-Type', register.contentType)
  metrics(): Promise<string> {
    return register.metrics();
  }
}
