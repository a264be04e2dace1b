import request, { type Response } from 'supertest';
import { ERROR_TABLE, type ErrorNumber } from '../src/contract/error-table.js';
import { TOKEN } from './support/client.js';
import { sharedService } from './support/service.js';

// The interface of the service, in the order of contract/openapi.yaml: what a client sends, and what it gets.

describe('POST /plants', () => {
  const service = sharedService();

  /** Sends a body to POST /plants. */
  function post(body: string | Buffer, headers: Record<string, string> = {}) {
    return request(service.server)
      .post('/plants')
      .set({ Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json', ...headers })
      .serialize((bytes: unknown) => bytes as string)
      .send(body);
  }

  /** Expects an Error object, and returns its message. */
  function expectError({ status, headers, body }: Response, error: ErrorNumber): string {
    expect(body).toEqual({ error, message: expect.stringMatching(/^\S.*\.$/) as string });
    expect([status, headers['content-type']]).toEqual([400, 'application/json']);
    return (body as { message: string }).message;
  }

  afterEach(() => service.store.query('DELETE FROM plants'));

  const BODY = '{"id":1,"name":"Monstera","tag":"indoor"}';
  const MONSTERA = { name: 'Monstera', tag: 'indoor' };

  /** A text that a trim or a normalisation would change. */
  const ODD = ' \t\ufeffe\u0301 \u{1fab4}\u200d\r\n\u0001 ';

  /** Of two bytes a character. */
  const LARGE = 'ü'.repeat((1_048_576 - '{"id":1,"name":""}'.length) / 2);

  describe('A NewPlant is stored, and answered as a Plant', () => {
    it.each([
      { what: 'with a name and a tag', body: BODY, plant: MONSTERA },
      { what: 'without a tag', body: '{"id":1,"name":"Aloe"}', plant: { name: 'Aloe' } },
      { what: 'with an empty name and tag', body: '{"id":1,"name":"","tag":""}', plant: { name: '', tag: '' } },
      { what: 'with any text', body: JSON.stringify({ id: 1, name: ODD, tag: ODD }), plant: { name: ODD, tag: ODD } },
      {
        what: 'without its unknown fields',
        body: BODY.replace('}', ',"x":{"id":2,"id":3},"y":1,"y":2,"__proto__":{"tag":"no"},"access_token":"no"}'),
        plant: MONSTERA,
      },
      { what: 'behind a byte order mark', body: `\ufeff${BODY}`, plant: MONSTERA },
      { what: 'of 1 MiB', body: `{"id":1,"name":"${LARGE}"}`, plant: { name: LARGE } },
    ])('$what', async ({ body, plant }) => {
      const { status, headers, text } = await post(body);

      expect([status, headers['content-type']]).toEqual([200, 'application/json']);
      expect(text).toBe(JSON.stringify(plant));
      expect(await service.rows()).toEqual([{ id: 1n, tag: null, ...plant }]);
    });

    it.each([
      ['-9223372036854775808', -9223372036854775808n],
      ['-0', 0n],
      ['7001.0', 7001n],
      ['7e3', 7000n],
      ['9007199254740992', 9007199254740992n],
      ['9007199254740993', 9007199254740993n],
      ['9223372036854775807', 9223372036854775807n],
    ])('with the exact id %s', async (written, id) => {
      await post(`{"id":${written},"name":"Monstera"}`).expect(200, { name: 'Monstera' });

      expect(await service.rows()).toEqual([{ id, name: 'Monstera', tag: null }]);
    });
  });

  describe('Anything else is refused, and leaves no trace:', () => {
    const INTEGER = 'an integer from -9223372036854775808 to 9223372036854775807';
    const TEXT = 'a string without U+0000 and unpaired surrogates';
    const ID = `id must be ${INTEGER}`;
    const NO_ID = `id is missing: it must be ${INTEGER}`;
    const NAME = `name must be ${TEXT}`;
    const NO_NAME = `name is missing: it must be ${TEXT}`;
    const TAG = `tag must be ${TEXT}`;
    const OBJECT = ERROR_TABLE[422].message.slice(0, -1);

    afterEach(async () => expect(await service.rows()).toEqual([]));

    it.each([
      ...['9223372036854775808', '-9223372036854775809', '1.5', '1e400', '1e-400', 'null', '[1]'],
      // A program may have rounded these.
      ...['0.99999999999999999', '4503599627370496.1'],
    ])('the id %s with error 422', async (written) => {
      expect(expectError(await post(`{"id":${written},"name":"Monstera"}`), 422)).toBe(`${ID}.`);
    });

    it.each([
      ...['9007199254740993.0', '4.873214862074862e+18'].map((id) => ({
        body: `{"id":${id},"name":"Monstera"}`,
        faults: [`${ID}: send its digits alone, without a point or an exponent`],
      })),
      { body: '{"id":"7","name":"Monstera"}', faults: [`${ID}: send it without quotation marks`] },
      { body: '{}', faults: [NO_ID, NO_NAME] },
      { body: '{"id":1,"name":null}', faults: [NAME] },
      { body: '{"id":1,"name":"\\u0000"}', faults: [NAME] },
      { body: '{"id":1,"name":"\\udc00\\ud800"}', faults: [NAME] },
      { body: '{"id":1,"name":"Monstera","tag":null}', faults: [`${TAG}: leave it out if there is none`] },
      { body: '{"ID":1,"Name":"Monstera","tag":{}}', faults: [NO_ID, NO_NAME, TAG] },
      { body: '{"__proto__":{"id":1,"name":"Monstera"}}', faults: [NO_ID, NO_NAME] },
      { body: '[{"id":1,"name":"Monstera"}]', faults: [OBJECT] },
      { body: 'null', faults: [OBJECT] },
    ])('$body with error 422, which names each field', async ({ body, faults }) => {
      expect(
        expectError(await post(body), 422)
          .slice(0, -1)
          .split('; ')
          .sort(),
      ).toEqual(faults);
    });

    it.each([
      { what: 'no bytes', body: '', message: /no body/ },
      { what: 'white space', body: ' \n', message: /not JSON/ },
      { what: 'two objects', body: '{"id":1,"name":"a"}{}', message: /not JSON/ },
      { what: 'a byte order mark at the end', body: '{"id":1,"name":"a"}\ufeff', message: /not JSON/ },
      { what: 'the name twice', body: '{"name":"a","id":1,"n\\u0061me":"b"}', message: /name is given twice/ },
      { what: 'Latin-1', body: Buffer.from('{"id":1,"name":"Kalanchoë"}', 'latin1'), message: /UTF-8/ },
    ])('$what with error 400', async ({ body, message }) => {
      expect(expectError(await post(body), 400)).toMatch(message);
    });

    it.each([
      { 'Content-Type': 'application/jsonp' },
      { 'Content-Type': 'application/json, application/json' },
      { 'Content-Type': '' },
      { 'Content-Encoding': 'gzip' },
    ])('a plant with the header %j with error 415', async (header) => {
      expectError(await post(BODY, header), 415);
    });

    it('a body of more than 1 MiB with error 413', async () => {
      const message = 'The body is too large: at most 1048576 bytes are accepted.';

      expect(expectError(await post(' '.repeat(1_048_577)), 413)).toBe(message);
    });
  });

  describe.each([{}, { Authorization: `Basic ${TOKEN}` }, { Authorization: 'Bearer another-token' }])(
    'With %j instead of a token,',
    (headers) => {
      it.each([
        ['post', '/plants'],
        ['get', '/plants'],
        ['post', `/plants?access_token=${TOKEN}`],
        ['delete', '/elsewhere'],
      ] as const)('a request gets error 401, whatever it asks for: %s %s', async (method, path) => {
        const answer = await request(service.server)[method](path).set(headers).send('{');

        expectError(answer, 401);
        expect(answer.headers['www-authenticate']).toMatch(/^Bearer realm="plants"/);
      });
    },
  );

  describe('A request with several faults', () => {
    it('gets their errors in this order: token, path, method, body present, media type, size, JSON, fields, store', async () => {
      await post(BODY);
      let attempt = { token: 'wrong', path: '/trees', method: 'put', body: '', type: 'text/plain' };
      /** The errors of one request, in the order in which it gets them, each with its correction. */
      const errors: [error: ErrorNumber, correction: Partial<typeof attempt>][] = [
        [401, { token: TOKEN }],
        [404, { path: '/plants' }],
        [405, { method: 'post' }],
        [400, { body: '!'.repeat(2_000_000) }],
        [415, { type: 'application/json' }],
        [413, { body: '{"id":' }],
        [400, { body: '{"id":"1","name":"Ficus"}' }],
        [422, { body: '{"id":1,"name":"Ficus"}' }],
        [409, { body: BODY }],
      ];
      const send = () => {
        const { token, path, method, body, type } = attempt;
        const headers = { Authorization: `Bearer ${token}`, 'Content-Type': type };
        return request(service.server)[method as 'put' | 'post'](path).set(headers).send(body);
      };
      for (const [error, correction] of errors) {
        expectError(await send(), error);
        attempt = { ...attempt, ...correction };
      }
      await send().expect(200, MONSTERA);
    });
  });

  describe('An id that exists', () => {
    const ROW = { id: 1n, ...MONSTERA };

    beforeEach(() => post(BODY));

    it('with the same name and tag gets the same answer, and is stored once', async () => {
      await post('{"tag":"indoor","name":"Monstera","id":1.0}').expect(200, MONSTERA);

      expect(await service.rows()).toEqual([ROW]);
    });

    it.each(['{"id":1,"name":"Ficus","tag":"indoor"}', '{"id":1,"name":"Monstera"}'])(
      'with another name or tag is refused with error 409, and the stored plant stays: %s',
      async (body) => {
        expectError(await post(body), 409);

        expect(await service.rows()).toEqual([ROW]);
      },
    );

    it('belongs to one of the plants that arrive at the same time', async () => {
      const names = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? 'Aloe' : 'Ficus'));
      const answers = await Promise.all(names.map((name) => post(JSON.stringify({ id: 2, name }))));

      const name = (await service.rows())[1]?.name;
      answers.forEach((answer, index) => {
        if (names[index] === name) expect(answer).toMatchObject({ status: 200, body: { name } });
        else expectError(answer, 409);
      });
    });
  });
});
