import { createServer } from 'node:http';
import { Controller, type DynamicModule, Get, Header, type INestApplication, Inject, Module } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';
import { setUpDocsPage } from './docs-page.js';
import { createOpenApiDocument } from './openapi-document.js';
import { createRequestHandler, type RequestHandler } from './request-handler.js';

/** The injection token of the OpenAPI document. */
const DOCUMENT = Symbol('document');

@Controller()
class DocumentationController {
  constructor(@Inject(DOCUMENT) private readonly document: OpenAPIObject) {}

  @Get('openapi.json')
  @Header('Cache-Control', 'no-cache')
  openapi(): OpenAPIObject {
    return this.document;
  }
}

@Module({})
class DocumentationModule {
  static register(document: OpenAPIObject): DynamicModule {
    return {
      module: DocumentationModule,
      controllers: [DocumentationController],
      providers: [{ provide: DOCUMENT, useValue: document }],
    };
  }
}

/**
 * @param app the public application
 * @param url where it is
 */
export async function createDocumentationHandler(app: INestApplication, url: string): Promise<RequestHandler> {
  // Nest ends the process where it finds no such package when it needs it.
  await import('@fastify/static');
  const document = await createOpenApiDocument(app, url);
  // The server is one that never listens: the one that does is not this application's to end.
  return createRequestHandler(DocumentationModule.register(document), createServer(), (documentation) =>
    setUpDocsPage(documentation, document, url),
  );
}
