import { createConfig, lintFromString } from '@redocly/openapi-core';
import { readFileSync } from 'node:fs';
import request from 'supertest';
import { parse } from 'yaml';
import { ERROR_TABLE } from '../../src/contract/error-table.js';
import {
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

  it('carries version 1.0.0 and the MIT license, and has {base_url} as a variable', () => {
    expect(CONTRACT).toMatchObject({
      info: { version: '1.0.0', license: { name: 'MIT', identifier: 'MIT' } },
      servers: [{ url: '{base_url}', variables: { base_url: {} } }],
    });
  });

  it('means what interface.md says, and no more', () => {
    const int64 = { type: 'integer', format: 'int64' };
    const int32 = { type: 'integer', format: 'int32', enum: expect.anything() as Json };
    const Plant = { type: 'object', required: ['name'], properties: { name: TEXT, tag: TEXT } };
    const NewPlant = { type: 'object', required: ['id', 'name'], properties: { id: int64, name: TEXT, tag: TEXT } };
    const properties = { error: int32, message: { type: 'string' } };
    const Error = { type: 'object', required: ['error', 'message'], properties };
    const json = (schema: object): object => ({ 'application/json': { schema } });

    const meaning = meaningOf(CONTRACT);
    expect(meaning.schemas).toEqual({ Plant, NewPlant, Error });
    expect(meaning.securitySchemes).toEqual({ bearer: { type: 'http', scheme: 'bearer' } });
    expect(meaning.paths).toEqual({
      '/plants': {
        post: {
          operationId: 'createPlant',
          tags: ['Plants'],
          parameters: [],
          security: [{ bearer: [] }],
          requestBody: { required: true, content: json(NewPlant) },
          responses: {
            200: { description: 'plant response', content: json(Plant) },
            400: { description: 'unexpected error', headers: expect.anything() as Json, content: json(Error) },
          },
        },
      },
    });
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
