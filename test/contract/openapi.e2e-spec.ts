import { createConfig, lintFromString } from '@redocly/openapi-core';
import { readFileSync } from 'node:fs';
import request from 'supertest';
import { parse } from 'yaml';
import { ERROR_TABLE } from '../../src/contract/error-table.js';
import {
  at,
  CONTRACT,
  CONTRACT_FILE,
  type Json,
  type JsonObject,
  meaningOf,
  partsOf,
  valuesOf,
} from '../support/openapi-meaning.js';
import { TOKEN } from '../support/client.js';
import { type Service, startService } from '../support/service.js';

// src/plants/dto/plant.dto.spec.ts tests the pattern.
const TEXT = { type: 'string', pattern: expect.any(String) as string };

describe('contract/openapi.yaml', () => {
  it('is accepted by the recommended rules of Redocly', async () => {
    const source = readFileSync(CONTRACT_FILE, 'utf8');

    expect(await lintFromString({ source, config: await createConfig({ extends: ['recommended'] }) })).toEqual([]);
  });

  it('has the exact bounds of an id', () => {
    const exact = parse(readFileSync(CONTRACT_FILE, 'utf8'), { intAsBigInt: true }) as JsonObject;

    expect(partsOf(exact).id).toMatchObject({ minimum: -(2n ** 63n), maximum: 2n ** 63n - 1n });
  });

  it('carries version 1.0.0', () => {
    expect(at(CONTRACT, 'info').version).toBe('1.0.0');
  });

  it('is licensed under the MIT license', () => {
    expect(at(CONTRACT, 'info', 'license')).toEqual({ name: 'MIT', identifier: 'MIT' });
  });

  it('has {base_url} as a variable', () => {
    expect(CONTRACT.servers).toMatchObject([{ url: '{base_url}', variables: { base_url: {} } }]);
  });
});

describe('The meaning of contract/openapi.yaml', () => {
  const meaning = meaningOf(CONTRACT);
  const operation = at(meaning, 'paths', '/plants', 'post');

  it('has one operation, POST /plants, without parameters', () => {
    expect(meaning.paths).toEqual({ '/plants': { post: expect.anything() as Json } });
    expect(operation).toMatchObject({ operationId: 'createPlant', parameters: [] });
  });

  it('declares one security scheme, HTTP bearer, and applies it to all operations', () => {
    expect(meaning.securitySchemes).toEqual({ bearer: { type: 'http', scheme: 'bearer' } });
    expect(operation.security).toEqual([{ bearer: [] }]);
  });

  it('requires a NewPlant in JSON as the body', () => {
    expect(operation.requestBody).toEqual({
      required: true,
      content: { 'application/json': { schema: at(meaning, 'schemas', 'NewPlant') } },
    });
  });

  it('describes 200 as a plant response: a Plant in JSON', () => {
    expect(at(operation, 'responses', '200')).toEqual({
      description: 'plant response',
      content: { 'application/json': { schema: at(meaning, 'schemas', 'Plant') } },
    });
  });

  it('describes 400 as an unexpected error: an Error in JSON', () => {
    expect(at(operation, 'responses', '400')).toMatchObject({
      description: 'unexpected error',
      content: { 'application/json': { schema: at(meaning, 'schemas', 'Error') } },
    });
  });

  it('has no other answers', () => {
    expect(Object.keys(at(operation, 'responses'))).toEqual(['200', '400']);
  });

  it.each([
    ['Plant', ['name'], { name: TEXT, tag: TEXT }],
    ['NewPlant', ['id', 'name'], { id: { type: 'integer', format: 'int64' }, name: TEXT, tag: TEXT }],
    [
      'Error',
      ['error', 'message'],
      { error: { type: 'integer', format: 'int32', enum: expect.anything() as Json }, message: { type: 'string' } },
    ],
  ])('has exactly the schema of %s in interface.md', (name, required, properties) => {
    expect(at(meaning, 'schemas', name)).toEqual({ type: 'object', required, properties });
  });

  it('has the numbers and texts of the error table', () => {
    const { errorNumber } = partsOf(CONTRACT);
    const rows = (errorNumber.description as string).matchAll(/^\| (\d+) +\| (.+?) +\|$/gm);

    expect(errorNumber.enum).toEqual(Object.keys(ERROR_TABLE).map(Number));
    expect([...rows].map(([, number, when]) => [number, when])).toEqual(
      Object.entries(ERROR_TABLE).map(([number, { when }]) => [number, when]),
    );
  });
});

describe('The examples of contract/openapi.yaml', () => {
  const { body, accepted, refused } = partsOf(CONTRACT);
  let service: Service;

  beforeAll(async () => {
    service = await startService();
  });

  afterAll(() => service.close());

  it('get the documented answers', async () => {
    const answers: JsonObject = {};
    for (const [name, plant] of Object.entries(valuesOf(body.examples))) {
      const response = await create(service, plant);
      expect(response.status).toBe(200);
      answers[name] = response.body as Json;
    }

    expect(answers).toEqual(valuesOf(accepted.examples));
  });

  it('get the documented refusals', async () => {
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

function create(service: Service, plant: Json) {
  return request(service.url)
    .post('/plants')
    .set('Authorization', `Bearer ${TOKEN}`)
    .send(plant as object);
}
