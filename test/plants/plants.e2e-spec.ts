import type request from 'supertest';
import { TOKEN } from '../support/client.js';
import { expectError, post } from '../support/plant-requests.js';
import { type Service, startService } from '../support/service.js';
import { type Row } from '../support/store.js';

const MONSTERA = { id: 1, name: 'Monstera', tag: 'indoor' };
const MONSTERA_ROW: Row = { id: 1n, name: 'Monstera', tag: 'indoor' };

let service: Service;

describe('POST /plants', () => {
  beforeAll(async () => {
    service = await startService();
  });

  beforeEach(() => service.store.query('DELETE FROM plants'));

  afterAll(() => service.close());

  describe('with a valid NewPlant', () => {
    it('answers 200 and the Plant with its name and tag', async () => {
      const response = await post(service.url).send(JSON.stringify(MONSTERA));

      expect(response.status).toBe(200);
      expect(response.headers['content-type']).toBe('application/json');
      expect(response.text).toBe('{"name":"Monstera","tag":"indoor"}');
      expect(await service.rows()).toEqual([MONSTERA_ROW]);
    });

    it('answers without a tag if the tag is absent', async () => {
      const response = await post(service.url).send('{"id":1,"name":"Monstera"}');

      expect(response.status).toBe(200);
      expect(response.text).toBe('{"name":"Monstera"}');
      expect(await service.rows()).toEqual([{ id: 1n, name: 'Monstera', tag: null }]);
    });

    it('accepts an empty name and an empty tag', async () => {
      const response = await post(service.url).send('{"id":1,"name":"","tag":""}');

      expect(response.status).toBe(200);
      expect(response.text).toBe('{"name":"","tag":""}');
      expect(await service.rows()).toEqual([{ id: 1n, name: '', tag: '' }]);
    });

    it('does not trim or normalise text', async () => {
      const text = ' \t\ufeffe\u0301 \u{1fab4}\u200d\r\n\u0001 ';

      const response = await post(service.url).send(JSON.stringify({ id: 1, name: text, tag: text }));

      expect(response.body).toEqual({ name: text, tag: text });
      expect(await service.rows()).toEqual([{ id: 1n, name: text, tag: text }]);
    });

    it('ignores unknown fields', async () => {
      const response = await post(service.url).send(
        '{"id":1,"name":"Monstera","tag":"indoor","height":{"id":2,"id":3},"x":1,"x":2,"__proto__":{"tag":"no"},"access_token":"no"}',
      );

      expect(response.status).toBe(200);
      expect(await service.rows()).toEqual([MONSTERA_ROW]);
    });
  });

  describe('with the id', () => {
    it.each([
      ['9223372036854775807', 9223372036854775807n],
      ['-9223372036854775808', -9223372036854775808n],
      ['-0', 0n],
      ['7e3', 7000n],
    ])('%s stores it exactly', async (written, id) => {
      const response = await post(service.url).send(`{"id":${written},"name":"Monstera"}`);

      expect(response.status).toBe(200);
      expect(await service.rows()).toEqual([{ id, name: 'Monstera', tag: null }]);
    });

    it('2^53 and 2^53 + 1 stores two plants', async () => {
      await post(service.url).send('{"id":9007199254740993,"name":"one"}');
      await post(service.url).send('{"id":9007199254740992,"name":"another"}');

      expect((await service.rows()).map(({ name }) => name)).toEqual(['another', 'one']);
    });
  });

  it('with a body of 1 MiB creates the plant', async () => {
    const name = 'n'.repeat(1_048_576 - '{"id":1,"name":""}'.length);

    const response = await post(service.url).send(`{"id":1,"name":"${name}"}`);

    expect(response.status).toBe(200);
    expect(response.body).toEqual({ name });
  });

  describe('with an id that exists', () => {
    beforeEach(async () => {
      await post(service.url).send(JSON.stringify(MONSTERA)).expect(200);
    });

    it('and the same name and tag gives the same answer, and stores nothing', async () => {
      const response = await post(service.url).send('{"tag":"indoor","name":"Monstera","id":1.0}');

      expect(response.status).toBe(200);
      expect(response.text).toBe('{"name":"Monstera","tag":"indoor"}');
      expect(await service.rows()).toEqual([MONSTERA_ROW]);
    });

    it.each([
      ['another name', '{"id":1,"name":"Ficus","tag":"indoor"}'],
      ['another tag', '{"id":1,"name":"Monstera","tag":"outdoor"}'],
      ['no tag', '{"id":1,"name":"Monstera"}'],
      ['an empty tag', '{"id":1,"name":"Monstera","tag":""}'],
    ])('and %s refuses it with error 409, and does not change the stored plant', async (_what, body) => {
      const response = await post(service.url).send(body);

      expectError(response, 409);
      expect(await service.rows()).toEqual([MONSTERA_ROW]);
    });

    it('in concurrent requests creates one plant, and refuses other names with error 409', async () => {
      const names = Array.from({ length: 50 }, (_, index) => `name ${index % 5}`);

      const responses = await Promise.all(names.map((name) => post(service.url).send(JSON.stringify({ id: 2, name }))));

      const [, stored] = await service.rows();
      expect(responses.map(({ status, body }) => [status, (body as { error?: number }).error])).toEqual(
        names.map((name) => (name === stored?.name ? [200, undefined] : [400, 409])),
      );
    });
  });

  describe('The order of checks', () => {
    /** The errors of one request, in the order in which it gets them, each with its correction. */
    const errors: [error: number, correct: (attempt: Attempt) => Attempt][] = [
      [401, (attempt) => ({ ...attempt, token: TOKEN })],
      [404, (attempt) => ({ ...attempt, path: '/plants' })],
      [405, (attempt) => ({ ...attempt, method: 'POST' })],
      [400, (attempt) => ({ ...attempt, body: '!'.repeat(2_000_000) })],
      [415, (attempt) => ({ ...attempt, type: 'application/json' })],
      [413, (attempt) => ({ ...attempt, body: '{"id":' })],
      [400, (attempt) => ({ ...attempt, body: '{"id":"1","name":"Ficus"}' })],
      [422, (attempt) => ({ ...attempt, body: '{"id":1,"name":"Ficus"}' })],
      [409, (attempt) => ({ ...attempt, body: JSON.stringify(MONSTERA) })],
    ];

    interface Attempt {
      readonly method: string;
      readonly path: string;
      readonly token: string;
      readonly type: string;
      readonly body: string | undefined;
    }

    it('is token, path, method, body present, media type, size, JSON, fields, store', async () => {
      await post(service.url).send(JSON.stringify(MONSTERA)).expect(200);
      let attempt: Attempt = { method: 'PUT', path: '/trees', token: 'wrong', type: 'text/plain', body: undefined };
      for (const [error, correct] of errors) {
        expectError(await send(attempt), error);
        attempt = correct(attempt);
      }
      expect((await send(attempt)).status).toBe(200);
    });

    async function send({ method, path, token, type, body }: Attempt): Promise<request.Response> {
      const response = await fetch(service.url + path, {
        method,
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': type },
        ...(body !== undefined && { body }),
      });
      const headers = Object.fromEntries(response.headers);
      return { status: response.status, headers, body: (await response.json()) as unknown } as request.Response;
    }
  });
});
