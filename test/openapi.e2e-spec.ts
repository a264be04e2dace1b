import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { Test } from '@nestjs/testing';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import request from 'supertest';
import { parse } from 'yaml';
import { AppModule } from '../src/app.module.js';
import { StaticTokens } from '../src/auth/static-tokens.js';
import { ERROR_TABLE } from '../src/contract/error-table.js';
import { createFastifyAdapter } from '../src/http/fastify-adapter.js';
import { createOpenApiDocument } from '../src/operations/openapi-document.js';
import { type Service, startService, TOKEN } from './service.js';

type Json = null | boolean | number | string | Json[] | JsonObject;
interface JsonObject {
  [name: string]: Json;
}

/** Keywords that bind nobody; the description of a response is the contract's, and no prose. */
const PROSE = new Set(['title', 'summary', 'description', 'example', 'examples', 'externalDocs', '$comment']);

/** Keywords whose members have names of our choice: among them `description` is one like any other. */
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

/** Keywords whose values have no order. */
const SETS = new Set(['required', 'enum', 'type']);

const CONTRACT = parse(readFileSync(new URL('../contract/openapi.yaml', import.meta.url), 'utf8')) as JsonObject;
const DERIVED = await derivedDocument();

/** Each of the two documents, and the one that it must agree with. */
const DOCUMENTS = [
  { title: 'contract/openapi.yaml', document: CONTRACT, other: DERIVED },
  { title: 'The document that the code yields', document: DERIVED, other: CONTRACT },
];

const DRY_RUN = { name: 'dryRun', in: 'query', schema: { type: 'boolean' } };

describe('contract/openapi.yaml', () => {
  it('carries version 1.0.0', () => {
    expect(at(CONTRACT, 'info').version).toBe('1.0.0');
  });

  it('is licensed under the MIT license', () => {
    expect(at(CONTRACT, 'info', 'license')).toEqual({ name: 'MIT', identifier: 'MIT' });
  });

  it('leaves the base address to the reader', () => {
    expect(CONTRACT.servers).toMatchObject([{ url: '{base_url}', variables: { base_url: {} } }]);
  });

  it('requires a token at its top, and so of operations to come', () => {
    expect(CONTRACT.security).toEqual([{ bearer: [] }]);
    expect(partsOf(CONTRACT).operation).not.toHaveProperty('security');
  });

  it('builds NewPlant on Plant', () => {
    expect(at(CONTRACT, 'components', 'schemas', 'NewPlant').allOf).toContainEqual({
      $ref: '#/components/schemas/Plant',
    });
  });
});

describe.each(DOCUMENTS)('$title', ({ document, other }) => {
  const meaning = meaningOf(document);
  const operation = at(meaning, 'paths', '/plants', 'post');

  it('is valid OpenAPI 3.1', async () => {
    expect(document.openapi).toMatch(/^3\.1\./);
    expect(await new Validator().validate(structuredClone(document))).toEqual({ valid: true });
  });

  it('has one operation, POST /plants, and no parameters', () => {
    expect(meaning.paths).toEqual({ '/plants': { post: expect.anything() as Json } });
    expect(operation).toMatchObject({ operationId: 'createPlant', parameters: [] });
  });

  it('declares one security scheme, HTTP bearer, and applies it to all operations', () => {
    expect(meaning.securitySchemes).toEqual({ bearer: { type: 'http', scheme: 'bearer' } });
    expect(operation.security).toEqual([{ bearer: [] }]);
  });

  it('requires a body, which is a NewPlant in JSON', () => {
    expect(operation.requestBody).toEqual({
      required: true,
      content: { 'application/json': { schema: at(meaning, 'schemas', 'NewPlant') } },
    });
  });

  it('answers 200, a plant response: a Plant in JSON', () => {
    expect(at(operation, 'responses', '200')).toEqual({
      description: 'plant response',
      content: { 'application/json': { schema: at(meaning, 'schemas', 'Plant') } },
    });
  });

  it('answers 400, an unexpected error: an Error in JSON', () => {
    expect(at(operation, 'responses', '400')).toMatchObject({
      description: 'unexpected error',
      content: { 'application/json': { schema: at(meaning, 'schemas', 'Error') } },
    });
  });

  it('has no other answers', () => {
    expect(Object.keys(at(operation, 'responses'))).toEqual(['200', '400']);
  });

  it.each([
    ['Plant', ['name'], { name: { type: 'string' }, tag: { type: 'string' } }],
    [
      'NewPlant',
      ['id', 'name'],
      { id: { type: 'integer', format: 'int64' }, name: { type: 'string' }, tag: { type: 'string' } },
    ],
    [
      'Error',
      ['error', 'message'],
      { error: { type: 'integer', format: 'int32', enum: expect.anything() as Json }, message: { type: 'string' } },
    ],
  ])('says of %s what interface.md says, and forbids nothing else', (name, required, properties) => {
    expect(at(meaning, 'schemas', name)).toEqual({ type: 'object', required, properties });
  });

  it('knows the numbers of the error table, and says of each when a client meets it', () => {
    const { errorNumber } = partsOf(document);
    const rows = (errorNumber.description as string).matchAll(/^\| (\d+) +\| (.+?) +\|$/gm);

    expect(errorNumber.enum).toEqual(Object.keys(ERROR_TABLE).map(Number));
    expect([...rows].map(([, number, when]) => [number, when])).toEqual(
      Object.entries(ERROR_TABLE).map(([number, { when }]) => [number, when]),
    );
  });

  it('agrees with the other document in all that binds', () => {
    expect(meaning).toEqual(meaningOf(other));
  });

  it.each<[string, (parts: Parts) => void]>([
    ['another version of OpenAPI', ({ document }) => (document.openapi = '3.1.99')],
    ['a rewritten summary', ({ operation }) => (operation.summary = 'Something else.')],
    ['a rewritten field', ({ tag }) => (tag.description = 'Something else.')],
    ['another example', ({ body }) => (body.example = { id: 3, name: 'Fern' })],
    ['required fields in another order', ({ error }) => (error.required = ['message', 'error'])],
    ['a schema in its place instead of a reference', ({ accepted, plant }) => (accepted.schema = plant)],
    ['a schema in parts', ({ schemas, error }) => (schemas.Error = { allOf: [error, { type: 'object' }] })],
    [
      'security said in both places',
      ({ document, operation }) => (document.security = operation.security = [{ bearer: [] }]),
    ],
  ])('still agrees with it after %s', (_what, change) => {
    expect(meaningOf(changed(document, change))).toEqual(meaningOf(other));
  });

  it.each<[string, (parts: Parts) => void]>([
    ['another path', ({ paths, path }) => (paths['/seeds'] = path)],
    ['a path of another name', ({ document, path }) => (document.paths = { '/plant': path })],
    ['another method', ({ path, operation }) => (path.put = operation)],
    ['a method of another name', ({ paths, operation }) => (paths['/plants'] = { put: operation })],
    ['a webhook', ({ document, path }) => (document.webhooks = { created: path })],
    ['another operationId', ({ operation }) => (operation.operationId = 'addPlant')],
    ['no operationId', ({ operation }) => delete operation.operationId],
    ['a deprecated operation', ({ operation }) => (operation.deprecated = true)],
    ['a tag of the operation', ({ operation }) => (operation.tags = ['Plants'])],
    ['a query parameter', ({ operation }) => (operation.parameters = [DRY_RUN])],
    ['a parameter of the path', ({ path }) => (path.parameters = [DRY_RUN])],
    ['no security at all', ({ document, operation }) => (delete document.security, delete operation.security)],
    ['no security for the operation', ({ operation }) => (operation.security = [])],
    ['optional security', ({ operation }) => (operation.security = [{ bearer: [] }, {}])],
    ['another kind of security', ({ schemes }) => (schemes.bearer = { type: 'http', scheme: 'basic' })],
    [
      'a format of the token',
      ({ schemes }) => (schemes.bearer = { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' }),
    ],
    ['a second security scheme', ({ schemes }) => (schemes.basic = { type: 'http', scheme: 'basic' })],
    ['an optional body', ({ requestBody }) => (requestBody.required = false)],
    ['a body of another schema', ({ body }) => (body.schema = { $ref: '#/components/schemas/Plant' })],
    ['a second media type of the body', ({ requestBody, body }) => (at(requestBody, 'content')['text/json'] = body)],
    ['another media type of the body', ({ requestBody, body }) => (requestBody.content = { 'text/json': body })],
    ['no body', ({ operation }) => delete operation.requestBody],
    ['another answer', ({ responses }) => (responses['401'] = { description: 'no token' })],
    ['a default answer', ({ responses }) => (responses.default = { description: 'unexpected error' })],
    ['an answer less', ({ responses }) => delete responses['400']],
    ['another description of 200', ({ responses }) => (at(responses, '200').description = 'Plant response')],
    ['another description of 400', ({ responses }) => (at(responses, '400').description = 'an error')],
    ['an answer of another schema', ({ accepted }) => (accepted.schema = { $ref: '#/components/schemas/NewPlant' })],
    ['an answer of any schema', ({ refused }) => delete refused.schema],
    ['an answer without a body', ({ responses }) => delete at(responses, '200').content],
    [
      'another media type of an answer',
      ({ responses, refused }) => (at(responses, '400').content = { '*/*': refused }),
    ],
    ['a header of an answer less', ({ headers }) => delete headers.Allow],
    ['a header of an answer more', ({ headers }) => (headers.Location = { schema: { type: 'string' } })],
    ['another type of a header', ({ headers }) => (at(headers, 'Retry-After').schema = { type: 'string' })],
    ['another schema', ({ schemas }) => (schemas.Seed = { type: 'object' })],
    ['a schema of another type', ({ error }) => (error.type = 'array')],
    ['a field more', ({ plant }) => (at(plant, 'properties').height = { type: 'number' })],
    ['a field named like prose', ({ plant }) => (at(plant, 'properties').description = { type: 'string' })],
    ['a field less', ({ error }) => delete at(error, 'properties').message],
    ['a field of another name', ({ plant, tag }) => (plant.properties = { name: { type: 'string' }, kind: tag })],
    ['a name of another type', ({ name }) => (name.type = 'number')],
    ['an optional name', ({ plant }) => (plant.required = [])],
    ['a limited name', ({ name }) => (name.maxLength = 100)],
    ['a required tag', ({ plant }) => (plant.required = ['name', 'tag'])],
    ['a nullable tag', ({ tag }) => (tag.type = ['string', 'null'])],
    ['a tag with a default', ({ tag }) => (tag.default = '')],
    ['a tag with allowed values', ({ tag }) => (tag.enum = ['indoor', 'outdoor'])],
    ['an optional id', ({ newPlant }) => (newPlant.required = ['name'])],
    ['an id of another type', ({ id }) => (id.type = 'number')],
    ['an id of another format', ({ id }) => (id.format = 'int32')],
    ['an id of any format', ({ id }) => delete id.format],
    ['an id above a minimum', ({ id }) => (id.minimum = 1)],
    ['an error number of another format', ({ errorNumber }) => (errorNumber.format = 'int64')],
    ['an error number less', ({ errorNumber }) => (errorNumber.enum = (errorNumber.enum as Json[]).slice(1))],
    ['an error number more', ({ errorNumber }) => (errorNumber.enum = [...(errorNumber.enum as Json[]), 418])],
    ['error numbers without a list', ({ errorNumber }) => delete errorNumber.enum],
    ['an optional message', ({ error }) => (error.required = ['error'])],
    ['fields that are forbidden', ({ plant }) => (plant.additionalProperties = false)],
    ['a new constraint on a whole schema', ({ error }) => (error.minProperties = 3)],
  ])('does not agree with it after %s', (_what, change) => {
    const drifted = changed(document, change);

    // Two parts of an allOf that contradict each other have no meaning to compare.
    expect(() => expect(meaningOf(drifted)).toEqual(meaningOf(other))).toThrow();
  });
});

describe('The examples of contract/openapi.yaml', () => {
  const { body, accepted, refused } = partsOf(CONTRACT);
  const schemas = at(meaningOf(CONTRACT), 'schemas');
  let service: Service;

  beforeAll(async () => {
    service = await startService();
  });

  afterAll(() => service.close());

  it.each([
    ['NewPlant', body],
    ['Plant', accepted],
    ['Error', refused],
  ])('are valid by the schema of %s', (name, { examples }) => {
    const validate = new Ajv2020({ formats: { int32: true, int64: true } }).compile(at(schemas, name));

    for (const example of Object.values(valuesOf(examples))) {
      validate(example);
      expect(validate.errors).toBeNull();
    }
  });

  it('are accepted and answered as it says', async () => {
    const answers: JsonObject = {};
    for (const [name, plant] of Object.entries(valuesOf(body.examples))) {
      const response = await create(service, plant);
      expect(response.status).toBe(200);
      answers[name] = response.body as Json;
    }

    expect(answers).toEqual(valuesOf(accepted.examples));
  });

  it('are refused in the words that it says', async () => {
    await create(service, { id: 1, name: 'Monstera', tag: 'indoor' });
    const answers = {
      noToken: await request(service.url).post('/plants').send({ id: 1, name: 'Monstera' }),
      otherPlant: await create(service, { id: 1, name: 'Monstera', tag: 'outdoor' }),
      noNewPlant: await create(service, { id: '1', name: 'Monstera', tag: null }),
    };

    expect(Object.values(answers).map(({ status }) => status)).toEqual([400, 400, 400]);
    expect(
      Object.fromEntries(Object.entries(answers).map(([name, response]) => [name, response.body as Json])),
    ).toEqual(valuesOf(refused.examples));
  });
});

/** What the management listener shows. */
async function derivedDocument(): Promise<JsonObject> {
  const testing = await Test.createTestingModule({
    imports: [
      AppModule.forRoot({
        basePath: '',
        repository: 'sqlite::memory:',
        authentication: { verifier: new StaticTokens([]) },
      }),
    ],
  }).compile();
  const app = testing.createNestApplication(createFastifyAdapter({}), { bodyParser: false });
  const document = await createOpenApiDocument(app);
  await app.close();
  return JSON.parse(JSON.stringify(document)) as JsonObject;
}

/**
 * What a document promises, however it puts it: references followed, allOf merged, defaults spelled out, prose left out.
 * Everything else stays, so that nothing can drift only because nobody thought of it.
 */
function meaningOf(document: JsonObject): JsonObject {
  const meaning = (value: Json, keyword = ''): Json => {
    if (Array.isArray(value)) {
      const items = value.map((item) => meaning(item));
      return SETS.has(keyword) ? items.sort() : items;
    }
    if (!isObject(value)) return value;
    if (NAMED.has(keyword))
      return mapValues(value, (member) => meaning(member, keyword === 'responses' ? 'response' : ''));
    const { $ref, allOf, ...own } = value;
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

/** What holds where both of these hold. */
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

/** The parts of a document that a test may want to change, wherever the document keeps them. */
type Parts = ReturnType<typeof partsOf>;

function partsOf(document: JsonObject) {
  const operation = at(document, 'paths', '/plants', 'post');
  const requestBody = at(operation, 'requestBody');
  const responses = at(operation, 'responses');
  const schemas = at(document, 'components', 'schemas');
  const whole = at(schemas, 'NewPlant');
  // The contract's is a Plant and something of its own.
  const newPlant = Array.isArray(whole.allOf) ? (whole.allOf[1] as JsonObject) : whole;
  return {
    document,
    paths: at(document, 'paths'),
    path: at(document, 'paths', '/plants'),
    operation,
    schemes: at(document, 'components', 'securitySchemes'),
    requestBody,
    body: at(requestBody, 'content', 'application/json'),
    responses,
    accepted: at(responses, '200', 'content', 'application/json'),
    refused: at(responses, '400', 'content', 'application/json'),
    headers: at(responses, '400', 'headers'),
    schemas,
    plant: at(schemas, 'Plant'),
    name: at(schemas, 'Plant', 'properties', 'name'),
    tag: at(schemas, 'Plant', 'properties', 'tag'),
    newPlant,
    id: at(newPlant, 'properties', 'id'),
    error: at(schemas, 'Error'),
    errorNumber: at(schemas, 'Error', 'properties', 'error'),
  };
}

function changed(document: JsonObject, change: (parts: Parts) => void): JsonObject {
  const copy = structuredClone(document);
  change(partsOf(copy));
  expect(copy).not.toEqual(document);
  return copy;
}

/** The object at this place; a missing one is an error that names it. */
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

/** The values of OpenAPI's named examples. */
function valuesOf(examples: Json | undefined): JsonObject {
  return mapValues(
    at({ examples: examples ?? null }, 'examples'),
    (example) => at({ example }, 'example').value ?? null,
  );
}

function create(service: Service, plant: Json) {
  return request(service.url)
    .post('/plants')
    .set('Authorization', `Bearer ${TOKEN}`)
    .send(plant as object);
}
