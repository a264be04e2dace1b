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
  // Read at the start, because it could not be read later while file descriptors are exhausted.
  readonly #contract = load(readFileSync(CONTRACT, 'utf8')) as OpenAPIObject;

  constructor(private readonly service: ManagedService) {}

  /** @throws {ServiceUnavailableException} while the service starts and has no address */
  get(): OpenAPIObject {
    const { baseUrl } = this.service;
    if (baseUrl === undefined) throw new ServiceUnavailableException('the service is starting');
    return { ...this.#contract, servers: [{ url: baseUrl }] };
  }
}
