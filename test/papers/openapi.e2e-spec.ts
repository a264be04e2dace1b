import { createConfig, lintFromString } from '@redocly/openapi-core';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import request from 'supertest';
import { parse } from 'yaml';
import { ERROR_TABLE } from '../../src/contract/error-table.js';
import { create } from '../support/client.js';
import { Paper } from '../support/paper.js';
import { ROOT } from '../support/root.js';
import { sharedService } from '../support/service.js';

interface Content {
  readonly description: string;
  readonly content: { readonly 'application/json': { readonly examples: Record<string, { readonly value: object }> } };
}

interface Contract {
  readonly paths: {
    readonly '/plants': { readonly post: { requestBody: Content; responses: Record<'200' | '400', Content> } };
  };
  readonly components: {
    readonly schemas: {
      readonly Plant: ObjectSchema;
      readonly NewPlant: { readonly allOf: readonly Partial<ObjectSchema>[] };
      readonly Error: ObjectSchema & { properties: { error: { enum: number[]; description: string } } };
    };
  };
}

interface ObjectSchema {
  readonly required: readonly string[];
  readonly properties: Readonly<Record<string, { readonly type: string; readonly format?: string }>>;
}

/** The order that the contract carries out. */
const INTERFACE = new Paper('contract/interface.md');

const SOURCE = readFileSync(join(ROOT, 'contract/openapi.yaml'), 'utf8');
const document = parse(SOURCE) as Contract;
const { paths, components } = document;
const { requestBody, responses } = paths['/plants'].post;

describe('contract/openapi.yaml', () => {
  it('is accepted by the recommended rules of Redocly', async () => {
    const config = await createConfig({ extends: ['recommended'] });

    expect(await lintFromString({ source: SOURCE, config })).toEqual([]);
  });

  it('has the fields of contract/interface.md', () => {
    /** Returns the fields of a schema as rows: name, type, format if there is one, and whether it is required. */
    const rowsOf = ({ required = [], properties = {} }: Partial<ObjectSchema>): (string | boolean)[][] =>
      Object.entries(properties).map(([name, { type, format = '' }]) => [name, type, format, required.includes(name)]);
    /** Returns the same of a table, of which one has no column for formats. */
    const documented = (heading: string): (string | boolean)[][] =>
      INTERFACE.tableIn(heading).map((cells) => {
        const [name = '', type = ''] = cells;
        return [name, type, cells.length > 4 ? (cells[2] ?? '') : '', cells.at(-2) === 'yes'];
      });
    const { Plant: plant, NewPlant: newPlant, Error: error } = components.schemas;
    const [, ownFields = {}] = newPlant.allOf;

    expect(documented('Error')).toHaveLength(2);
    expect(rowsOf(plant)).toEqual(documented('Plant'));
    expect([...rowsOf(ownFields), ...rowsOf(plant)]).toEqual(
      documented('NewPlant (the payload sent when creating a plant)'),
    );
    expect(rowsOf(error)).toEqual(documented('Error'));
  });

  it('has the operation and the scheme of contract/interface.md, and no rule that it does not have', () => {
    const { id, name } = {
      ...components.schemas.NewPlant.allOf[1]?.properties,
      ...components.schemas.Plant.properties,
    };
    const refersTo = (schema: string): object => ({
      content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } },
    });

    expect(Object.keys(paths)).toEqual(['/plants']);
    expect(Object.keys(paths['/plants'])).toEqual(['post']);
    expect(Object.keys(responses)).toEqual(['200', '400']);
    expect(requestBody).toMatchObject({ required: true, ...refersTo('NewPlant') });
    expect(responses[200]).toMatchObject({ description: 'plant response', ...refersTo('Plant') });
    expect(responses[400]).toMatchObject({ description: 'unexpected error', ...refersTo('Error') });
    expect(document).toMatchObject({
      info: { version: '1.0.0', license: { name: 'MIT', identifier: 'MIT' } },
      servers: [{ url: '{base_url}' }],
      security: [{ bearer: [] }],
      components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
    });
    // Generated clients cannot compile `pattern`, and round `minimum` and `maximum`.
    expect(Object.keys(id ?? {}).sort()).toEqual(['description', 'format', 'type']);
    expect(Object.keys(name ?? {}).sort()).toEqual(['description', 'type']);
  });

  it('has the numbers and texts of the error table', () => {
    const { enum: numbers, description } = components.schemas.Error.properties.error;
    const rows = [...description.matchAll(/^\| (\d+) +\| (.+?) +\|$/gm)];

    expect(numbers).toEqual(Object.keys(ERROR_TABLE).map(Number));
    expect(rows.map(([, number, when]) => [number, when])).toEqual(
      Object.entries(ERROR_TABLE).map(([number, { when }]) => [number, when]),
    );
  });
});

describe('The examples of contract/openapi.yaml', () => {
  /** Returns the values of the examples by name. */
  function examplesOf({ content }: Content): Record<string, object> {
    const { examples } = content['application/json'];
    return Object.fromEntries(Object.entries(examples).map(([name, { value }]) => [name, value]));
  }

  const service = sharedService();

  it('get the documented answers and refusals', async () => {
    const documented = examplesOf(responses[200]);
    for (const [name, plant] of Object.entries(examplesOf(requestBody))) {
      expect(await create(service.url, plant)).toMatchObject({ status: 200, body: documented[name] });
    }

    const { noToken, otherPlant, noNewPlant, ...others } = examplesOf(responses[400]);
    const plant = { id: 1, name: 'Monstera', tag: 'indoor' };
    await create(service.url, plant);
    expect(await request(service.url).post('/plants').send(plant)).toMatchObject({ status: 400, body: noToken });
    expect(await create(service.url, { ...plant, tag: 'outdoor' })).toMatchObject({ status: 400, body: otherPlant });
    expect(await create(service.url, { ...plant, id: '1', tag: null })).toMatchObject({
      status: 400,
      body: noNewPlant,
    });
    expect(others).toEqual({});
  });
});
