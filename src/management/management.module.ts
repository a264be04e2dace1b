import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type DynamicModule, Logger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { TerminusModule } from '@nestjs/terminus';
import { load } from 'js-yaml';
import { HealthController } from './health.controller.js';
import { ManagedService } from './managed-service.js';
import { ManagementController } from './management.controller.js';
import { Metrics } from './metrics.js';

/** A copy of contract/openapi.yaml, which the build puts into dist/. */
const CONTRACT = new URL('../openapi.yaml', import.meta.url);

/** The files of Swagger UI beside the bundle. If there is no bundle, Nest finds them in their package. */
const SWAGGER_UI = fileURLToPath(new URL('../swagger-ui', import.meta.url));

/** Health and metrics of a service. */
@Module({})
export class ManagementModule {
  static register(service: ManagedService): DynamicModule {
    return {
      module: ManagementModule,
      imports: [TerminusModule.forRoot({ logger: Logger })],
      controllers: [HealthController, ManagementController],
      providers: [Metrics, { provide: ManagedService, useValue: service }],
    };
  }
}

/**
 * Starts the listener for operators: health, metrics and the docs page. It is a Nest application of its own, so that it
 * has no guard and other filters than the public one, and answers until the process ends.
 *
 * @returns its URL
 */
export async function startManagement(
  service: ManagedService,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<string> {
  const application = await NestFactory.create(ManagementModule.register(service), new FastifyAdapter(), {
    abortOnError: false,
  });
  const contract = load(readFileSync(CONTRACT, 'utf8')) as OpenAPIObject;
  SwaggerModule.setup('docs', application, contract, {
    customSiteTitle: 'Plant Store',
    jsonDocumentUrl: 'openapi.json',
    patchDocumentOnRequest: (_request, _response, document) => ({
      ...document,
      servers: service.baseUrl === undefined ? [] : [{ url: service.baseUrl }],
    }),
    ...(existsSync(SWAGGER_UI) && { customSwaggerUiPath: SWAGGER_UI }),
  });
  await application.listen(port, host);
  return application.getUrl();
}
