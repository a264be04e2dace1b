import { Controller, Get, Header, Redirect } from '@nestjs/common';
import { OpenApiDocument } from './openapi-document.js';

/** Leads a browser to the docs page, and serves the contract that it shows. */
@Controller()
export class DocsController {
  constructor(private readonly document: OpenApiDocument) {}

  @Get()
  @Redirect('docs')
  open(): void {
    return;
  }

  @Get('openapi.json')
  @Header('Content-Type', 'application/json')
  read(): string {
    return this.document.toJson();
  }
}
