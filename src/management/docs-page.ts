import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { FastifyReply, FastifyRequest } from 'fastify';
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
  const json = toJson(readContract(url));
  management
    .getHttpAdapter()
    .get('/openapi.json', (_request: FastifyRequest, reply: FastifyReply) => reply.type('application/json').send(json));
  SwaggerModule.setup('docs', management, withoutInt64Bounds(json), {
    customSiteTitle: 'Plant Store',
    ...(existsSync(SWAGGER_UI) && { customSwaggerUiPath: SWAGGER_UI }),
    raw: false,
    swaggerOptions: { persistAuthorization: false, validatorUrl: null },
  });
}

/** Returns the contract as JSON with the exact bounds of int64, which JavaScript numbers round. */
function toJson(contract: OpenAPIObject): string {
  // JSON.rawJSON needs Node 22.
  return JSON.stringify(contract)
    .replace(`:${-(2 ** 63)}`, `:${-(2n ** 63n)}`)
    .replace(`:${2 ** 63}`, `:${2n ** 63n - 1n}`);
}

/** Parses the contract without the bounds of int64: Swagger UI would show them rounded, and shows their format. */
function withoutInt64Bounds(json: string): OpenAPIObject {
  return JSON.parse(json, (_key, value: unknown) =>
    value === 2 ** 63 || value === -(2 ** 63) ? undefined : value,
  ) as OpenAPIObject;
}

function readContract(url: string): OpenAPIObject {
  return { ...(load(readFileSync(CONTRACT, 'utf8')) as OpenAPIObject), servers: [{ url }] };
}
