import { readFileSync } from 'node:fs';
import { Injectable, ServiceUnavailableException } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';
import { load } from 'js-yaml';
import { ManagedService } from './managed-service.js';

/** A copy of contract/openapi.yaml, which the build puts into dist/. */
const CONTRACT = new URL('../openapi.yaml', import.meta.url);

/** The bounds of int64 as numbers of JavaScript, which round the upper one. */
const INT64_BOUNDS = [-(2 ** 63), 2 ** 63];

/** The contract, with the address of the service. */
@Injectable()
export class OpenApiDocument {
  // Read now: while file descriptors are exhausted, it could not be read.
  readonly #contract = load(readFileSync(CONTRACT, 'utf8')) as OpenAPIObject;

  constructor(private readonly service: ManagedService) {}

  /** Returns it as JSON with the exact bounds of int64. */
  toJson(): string {
    return withInt64Bounds(this.#roundedJson());
  }

  /** Returns it without the bounds of int64: Swagger UI would show them rounded, and shows their format. */
  withoutInt64Bounds(): OpenAPIObject {
    const isBound = (value: unknown): boolean => INT64_BOUNDS.some((bound) => bound === value);
    return JSON.parse(this.#roundedJson(), (_, value: unknown) =>
      isBound(value) ? undefined : value,
    ) as OpenAPIObject;
  }

  #roundedJson(): string {
    const { baseUrl } = this.service;
    if (baseUrl === undefined) throw new ServiceUnavailableException('the service is starting');
    return JSON.stringify({ ...this.#contract, servers: [{ url: baseUrl }] });
  }
}

/** Returns JSON with the exact bounds of int64 instead of the rounded ones. JSON.rawJSON needs Node 22. */
export function withInt64Bounds(json: string): string {
  return json.replaceAll(`:${-(2 ** 63)}`, `:${-(2n ** 63n)}`).replaceAll(`:${2 ** 63}`, `:${2n ** 63n - 1n}`);
}
