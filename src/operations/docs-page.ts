import type { INestApplication } from '@nestjs/common';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';

/**
 * Swagger UI at `/docs`, from this machine alone: a person who has a token creates plants with it on the public port.
 *
 * @param management the application of the management listener
 * @param url where the public port is
 */
export function setUpDocsPage(management: INestApplication, document: OpenAPIObject, url: string): void {
  // Nothing is fetched from elsewhere, and nothing, such as a token, is sent elsewhere, whatever Swagger UI brings.
  const policy =
    `default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; ` +
    `connect-src 'self' ${new URL(url).origin}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`;
  const adapter = management.getHttpAdapter() as FastifyAdapter;
  adapter.getInstance().addHook('onRequest', (_request, reply, done) => {
    reply.header('Content-Security-Policy', policy);
    reply.header('Referrer-Policy', 'no-referrer');
    done();
  });
  SwaggerModule.setup('docs', management, document, {
    customSiteTitle: 'Plant Store',
    // The document is at /openapi.json.
    raw: false,
    swaggerOptions: { persistAuthorization: false, validatorUrl: null },
  });
}
