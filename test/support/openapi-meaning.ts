import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { parse } from 'yaml';

export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [name: string]: Json;
}

/** Keywords without a meaning for programs. The description of a response is part of the contract. */
const PROSE = new Set(['title', 'summary', 'description', 'example', 'examples', 'externalDocs', '$comment']);

/** Keywords whose members have arbitrary names, `description` among them. */
const NAMED = new Set([
  'paths',
  'webhooks',
  'schemas',
  'properties',
  'responses',
  'content',
  'headers',
  'securitySchemes',
]);

/** Keywords with unordered values. */
const SETS = new Set(['required', 'enum', 'type']);

export const CONTRACT_FILE = new URL('../../contract/openapi.yaml', import.meta.url);
export const CONTRACT = parse(readFileSync(CONTRACT_FILE, 'utf8')) as JsonObject;

/**
 * Returns what a document promises: with references resolved, allOf merged and defaults filled in, and without prose.
 * All other keywords stay, so that the comparison also covers keywords that this function does not know.
 */
export function meaningOf(document: JsonObject): JsonObject {
  const meaning = (value: Json, keyword = ''): Json => {
    if (Array.isArray(value)) {
      const items = value.map((item) => meaning(item));
      return SETS.has(keyword) ? items.sort() : items;
    }
    if (!isObject(value)) return value;
    if (NAMED.has(keyword))
      return mapValues(value, (member) => meaning(member, keyword === 'responses' ? 'response' : ''));
    const { $ref, allOf, ...own } = withoutInt64Bounds(value);
    const entries = Object.entries(own).filter(
      ([key]) => !PROSE.has(key) || (keyword === 'response' && key === 'description'),
    );
    return [
      ...(typeof $ref === 'string' ? [at(document, ...$ref.split('/').slice(1))] : []),
      ...(Array.isArray(allOf) ? allOf : []),
    ]
      .map((part) => meaning(part, keyword))
      .reduce(merge, Object.fromEntries(entries.map(([key, member]) => [key, meaning(member, key)])));
  };
  const paths = at({ paths: meaning(document.paths ?? {}, 'paths') }, 'paths');
  return {
    paths: mapValues(paths, (path) =>
      mapValues(path as JsonObject, (operation) =>
        isObject(operation) ? { parameters: [], security: document.security ?? [], ...operation } : operation,
      ),
    ),
    webhooks: meaning(document.webhooks ?? {}, 'webhooks'),
    schemas: meaning(at(document, 'components', 'schemas'), 'schemas'),
    securitySchemes: meaning(at(document, 'components', 'securitySchemes'), 'securitySchemes'),
  };
}

/** The format says the same, and a document that is derived from the code cannot have them exactly. */
function withoutInt64Bounds({ minimum, maximum, ...schema }: JsonObject): JsonObject {
  if (schema.format === 'int64' && minimum === -(2 ** 63) && maximum === 2 ** 63) return schema;
  return { ...schema, ...(minimum !== undefined && { minimum }), ...(maximum !== undefined && { maximum }) };
}

/** Merges two parts of an allOf. */
function merge(one: Json, other: Json): Json {
  if (isObject(one) && isObject(other)) {
    const shared = mapValues(other, (value, key) => {
      const present = one[key];
      if (present === undefined) return value;
      return key === 'required' && Array.isArray(present) && Array.isArray(value)
        ? [...new Set([...present, ...value])].sort()
        : merge(present, value);
    });
    return { ...one, ...shared };
  }
  if (!isDeepStrictEqual(one, other)) throw new Error(`${JSON.stringify(one)} contradicts ${JSON.stringify(other)}`);
  return one;
}

/** The parts of the contract that tests read. */
export function partsOf(document: JsonObject) {
  const operation = at(document, 'paths', '/plants', 'post');
  const responses = at(operation, 'responses');
  const schemas = at(document, 'components', 'schemas');
  const [, own] = at(schemas, 'NewPlant').allOf as [Json, JsonObject];
  return {
    body: at(operation, 'requestBody', 'content', 'application/json'),
    accepted: at(responses, '200', 'content', 'application/json'),
    refused: at(responses, '400', 'content', 'application/json'),
    id: at(own, 'properties', 'id'),
    errorNumber: at(schemas, 'Error', 'properties', 'error'),
  };
}

/** Returns the object at this place, or throws an error that names the place. */
export function at(from: JsonObject, ...place: readonly string[]): JsonObject {
  return place.reduce((object, name) => {
    const member = object[name];
    if (!isObject(member)) throw new Error(`There is no object at ${place.join(' / ')}`);
    return member;
  }, from);
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function mapValues(object: JsonObject, map: (value: Json, key: string) => Json): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value, key)]));
}

/** Returns the values of OpenAPI examples by name. */
export function valuesOf(examples: Json | undefined): JsonObject {
  return mapValues(
    at({ examples: examples ?? null }, 'examples'),
    (example) => at({ example }, 'example').value ?? null,
  );
}
