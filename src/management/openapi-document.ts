import { readFileSync } from 'node:fs';
import { Injectable, ServiceUnavailableException } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';
import { load } from 'js-yaml';
import { ManagedService } from './managed-service.js';

/** A copy of contract/openapi.yaml, which the build puts into dist/. */
const CONTRACT = new URL('../openapi.yaml', import.meta.url);

/** The contract, with the address of the service. */
@Injectable()
export class OpenApiDocument {
  // Read now: while file descriptors are exhausted, it could not be read.
  readonly #contract = load(readFileSync(CONTRACT, 'utf8')) as OpenAPIObject;

  constructor(private readonly service: ManagedService) {}

  /** Returns it as JSON with the exact bounds of int64, which JavaScript numbers round. */
  toJson(): string {
    const { baseUrl } = this.service;
    if (baseUrl === undefined) throw new ServiceUnavailableException('the service is starting');
    // JSON.rawJSON needs Node 22.
    return JSON.stringify({ ...this.#contract, servers: [{ url: baseUrl }] })
      .replace(`:${-(2 ** 63)}`, `:${-(2n ** 63n)}`)
      .replace(`:${2 ** 63}`, `:${2n ** 63n - 1n}`);
  }

  /** Returns it without the bounds of int64: Swagger UI would show them rounded, and shows their format. */
  withoutInt64Bounds(): OpenAPIObject {
    return JSON.parse(this.toJson(), (_key, value: unknown) =>
      value === 2 ** 63 || value === -(2 ** 63) ? undefined : value,
    ) as OpenAPIObject;
  }
}
