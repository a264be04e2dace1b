import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [name: string]: Json;
}

/** Keywords without a meaning for programs. The description of a response is part of the contract. */
const PROSE = new Set(['summary', 'description', 'examples']);

/** The format implies the bounds; a test of their own compares them exactly. */
const INT64 = new Set([...PROSE, 'minimum', 'maximum']);

export const CONTRACT_FILE = new URL('../../contract/openapi.yaml', import.meta.url);
export const CONTRACT = parse(readFileSync(CONTRACT_FILE, 'utf8')) as JsonObject;

/** Returns what a document promises: with references resolved, allOf merged, defaults filled in, and without prose. */
export function meaningOf(document: JsonObject): JsonObject {
  const meaning = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(meaning);
    if (!isObject(value)) return value;
    const { $ref, allOf, responses, ...own } = value;
    if (typeof $ref === 'string') return meaning(at(document, ...$ref.split('/').slice(1)));
    if (Array.isArray(allOf)) return merge(allOf.map((part) => meaning(part) as JsonObject));
    const ignored = value.format === 'int64' ? INT64 : PROSE;
    return {
      ...mapValues(Object.fromEntries(Object.entries(own).filter(([key]) => !ignored.has(key))), meaning),
      ...(isObject(responses) && { responses: mapValues(responses, ofResponse) }),
    };
  };
  const ofResponse = (response: Json): Json => {
    const { description = null } = response as JsonObject;
    return { description, ...(meaning(response) as JsonObject) };
  };
  const ofOperation = (operation: Json): Json => {
    return { parameters: [], security: document.security ?? [], ...(meaning(operation) as JsonObject) };
  };
  return {
    ...(meaning(at(document, 'components')) as JsonObject),
    paths: mapValues(at(document, 'paths'), (path) => mapValues(path as JsonObject, ofOperation)),
  };
}

/** Merges the parts of an allOf. */
function merge(parts: readonly JsonObject[]): JsonObject {
  return {
    ...(Object.assign({}, ...parts) as JsonObject),
    required: parts.flatMap(({ required }) => required as string[]).sort(),
    properties: Object.assign({}, ...parts.map(({ properties }) => properties)) as JsonObject,
  };
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
function at(from: JsonObject, ...place: readonly string[]): JsonObject {
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
