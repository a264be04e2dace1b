import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { load } from 'js-yaml';

/** A copy of contract/openapi.yaml, which the build puts into dist/. */
const CONTRACT = new URL('../openapi.yaml', import.meta.url);

/** The files of Swagger UI, which the bundle has beside it. Without the bundle, Nest finds them in their package. */
const SWAGGER_UI = fileURLToPath(new URL('../swagger-ui', import.meta.url));

/**
 * Serves the contract at `/openapi.json`, and Swagger UI, which creates plants on the public port, at `/docs`.
 *
 * @param url {base_url}
 */
export function setUpDocsPage(management: NestFastifyApplication, url: string): void {
  // The page loads nothing from other hosts, and cannot send them anything, such as a token.
  const policy =
    `default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; ` +
    `connect-src 'self' ${new URL(url).origin}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`;
  management
    .getHttpAdapter()
    .getInstance()
    .addHook('onRequest', (_request, reply, done) => {
      reply.headers({
        'Content-Security-Policy': policy,
        'Referrer-Policy': 'no-referrer',
        'Cache-Control': 'no-cache',
      });
      done();
    });
  // Read now: while file descriptors are exhausted, it could not be read.
  SwaggerModule.setup('docs', management, readContract(url), {
    customSiteTitle: 'Plant Store',
    ...(existsSync(SWAGGER_UI) && { customSwaggerUiPath: SWAGGER_UI }),
    raw: ['json'],
    jsonDocumentUrl: 'openapi.json',
    swaggerOptions: { persistAuthorization: false, validatorUrl: null },
  });
}

function readContract(url: string): OpenAPIObject {
  return { ...(load(readFileSync(CONTRACT, 'utf8')) as OpenAPIObject), servers: [{ url }] };
}
