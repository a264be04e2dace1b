import request from 'supertest';
import { TOKEN } from '../support/client.js';
import { type Service, startService } from '../support/service.js';
import { type Row } from '../support/store.js';

const MONSTERA = { id: 1, name: 'Monstera', tag: 'indoor' };
const MONSTERA_ROW: Row = { id: 1n, name: 'Monstera', tag: 'indoor' };

let service: Service;

beforeEach(async () => {
  service = await startService();
});

afterEach(() => service.close());

/** Begins a valid request, whose body is sent exactly as it is given. */
function post(path = '/plants'): request.Test {
  return request(service.url)
    .post(path)
    .set('Authorization', `Bearer ${TOKEN}`)
    .set('Content-Type', 'application/json')
    .serialize((body: unknown) => body as string);
}

function expectError(response: request.Response, error: number, message: unknown = expect.any(String)): void {
  expect(response.status).toBe(400);
  expect(response.headers['content-type']).toBe('application/json');
  expect(response.body).toEqual({ error, message });
  expect((response.body as { message: string }).message).toMatch(/^\S.*\.$/);
}

describe('POST /plants', () => {
  describe('with a valid NewPlant', () => {
    it('answers 200 and the Plant with its name and tag', async () => {
      const response = await post().send(JSON.stringify(MONSTERA));

      expect(response.status).toBe(200);
      expect(response.headers['content-type']).toBe('application/json');
      expect(response.text).toBe('{"name":"Monstera","tag":"indoor"}');
      expect(await service.rows()).toEqual([MONSTERA_ROW]);
    });

    it('answers without a tag if the tag is absent', async () => {
      const response = await post().send('{"id":1,"name":"Monstera"}');

      expect(response.status).toBe(200);
      expect(response.text).toBe('{"name":"Monstera"}');
      expect(await service.rows()).toEqual([{ id: 1n, name: 'Monstera', tag: null }]);
    });

    it('accepts an empty name and an empty tag', async () => {
      const response = await post().send('{"id":1,"name":"","tag":""}');

      expect(response.status).toBe(200);
      expect(response.text).toBe('{"name":"","tag":""}');
      expect(await service.rows()).toEqual([{ id: 1n, name: '', tag: '' }]);
    });

    it('does not trim or normalise text', async () => {
      const text = ' \t\ufeffe\u0301 \u{1fab4}\u200d\r\n\u0001 ';

      const response = await post().send(JSON.stringify({ id: 1, name: text, tag: text }));

      expect(response.body).toEqual({ name: text, tag: text });
      expect(await service.rows()).toEqual([{ id: 1n, name: text, tag: text }]);
    });

    it('ignores unknown fields', async () => {
      const response = await post().send(
        '{"id":1,"name":"Monstera","tag":"indoor","height":{"id":2,"id":3},"x":1,"x":2,"__proto__":{"tag":"no"},"access_token":"no"}',
      );

      expect(response.status).toBe(200);
      expect(await service.rows()).toEqual([MONSTERA_ROW]);
    });

    it.each([
      'application/json; charset=utf-8',
      'Application/JSON',
      'application/json;charset=latin1',
      'application/json ;x=1',
    ])('accepts the media type %s', async (type) => {
      const response = await post().set('Content-Type', type).send(JSON.stringify(MONSTERA));

      expect(response.status).toBe(200);
    });

    it('ignores a query', async () => {
      const response = await post('/plants?access_token=no&id=7').send(JSON.stringify(MONSTERA));

      expect(response.status).toBe(200);
      expect(await service.rows()).toEqual([MONSTERA_ROW]);
    });
  });

  describe('with the id', () => {
    it.each([
      ['9223372036854775807', 9223372036854775807n],
      ['-9223372036854775808', -9223372036854775808n],
      ['9007199254740993', 9007199254740993n],
      ['9007199254740992', 9007199254740992n],
      ['-0', 0n],
      ['7.0', 7n],
      ['7e3', 7000n],
      ['70E-1', 7n],
      ['9.223372036854775807e18', 9223372036854775807n],
      ['0.0e999999999999999999999', 0n],
    ])('%s stores it exactly', async (written, id) => {
      const response = await post().send(`{"id":${written},"name":"Monstera"}`);

      expect(response.status).toBe(200);
      expect(await service.rows()).toEqual([{ id, name: 'Monstera', tag: null }]);
    });

    it('2^53 and 2^53 + 1 stores two plants', async () => {
      await post().send('{"id":9007199254740993,"name":"one"}');
      await post().send('{"id":9007199254740992,"name":"another"}');

      expect((await service.rows()).map(({ name }) => name)).toEqual(['another', 'one']);
    });

    it.each(['9223372036854775808', '-9223372036854775809', '1.5', '1e400', '1e-1', 'true', 'null', '[1]', '{}'])(
      '%s refuses it with error 422',
      async (written) => {
        const response = await post().send(`{"id":${written},"name":"Monstera"}`);

        expectError(response, 422, 'id must be an integer from -9223372036854775808 to 9223372036854775807.');
        expect(await service.rows()).toEqual([]);
      },
    );

    it('"7" refuses it with error 422, which says to send it without quotation marks', async () => {
      const response = await post().send('{"id":"7","name":"Monstera"}');

      expectError(
        response,
        422,
        'id must be an integer from -9223372036854775808 to 9223372036854775807: send it without quotation marks.',
      );
      expect(await service.rows()).toEqual([]);
    });
  });

  describe('refuses a body that is not a NewPlant with error 422:', () => {
    const ID = 'id must be an integer from -9223372036854775808 to 9223372036854775807';
    const NAME = 'name must be a string without U+0000 and unpaired surrogates';
    const TAG = 'tag must be a string without U+0000 and unpaired surrogates';

    it.each([
      ['{"name":"Monstera"}', `${ID}.`],
      ['{"id":1}', `${NAME}.`],
      ['{"id":1,"name":null}', `${NAME}.`],
      ['{"id":1,"name":7}', `${NAME}.`],
      ['{"id":1,"name":["Monstera"]}', `${NAME}.`],
      ['{"id":1,"name":"Monstera","tag":null}', `${TAG}.`],
      ['{"id":1,"name":"Monstera","tag":false}', `${TAG}.`],
      ['{"id":1,"name":"\\u0000"}', `${NAME}.`],
      ['{"id":1,"name":"\\ud800"}', `${NAME}.`],
      ['{"id":1,"name":"\\udc00\\ud800"}', `${NAME}.`],
      ['{"id":1,"name":"Monstera","tag":"a\\u0000b"}', `${TAG}.`],
      ['{"id":"1","tag":{}}', [NAME, TAG, `${ID}: send it without quotation marks`]],
      ['{}', [NAME, ID]],
      ['[]', 'The body must be a JSON object with the fields of a NewPlant: id, name and optionally tag.'],
      ['[{"id":1,"name":"Monstera"}]', /object/],
      ['"x"', /object/],
      ['7', /object/],
      ['null', /object/],
      ['{"":{"id":1,"name":"Monstera"}}', [NAME, ID]],
      ['{"__proto__":{"id":1,"name":"Monstera"}}', [NAME, ID]],
      ['{"ID":1,"Name":"Monstera"}', [NAME, ID]],
    ])('%s', async (body, message) => {
      const response = await post().send(body);

      expectError(response, 422);
      if (Array.isArray(message)) {
        const parts = (response.body as { message: string }).message.replace(/\.$/, '').split('; ');
        expect(parts.sort()).toEqual([...message].sort());
      } else {
        expect((response.body as { message: string }).message).toMatch(message);
      }
      expect(await service.rows()).toEqual([]);
    });
  });

  describe('refuses a body that is not valid JSON with error 400:', () => {
    it.each([
      ['no body', undefined, /no body/],
      ['an empty body', '', /no body/],
      ['a word', 'plant', /not JSON/],
      ['white space', ' \n', /not JSON/],
      ['half an object', '{"id":1,', /not JSON/],
      ['two objects', '{"id":1,"name":"a"}{}', /not JSON/],
      ['a form', 'id=1&name=Monstera', /not JSON/],
      ['a number with a leading zero', '{"id":01,"name":"a"}', /not JSON/],
      ['a byte order mark', '\ufeff{"id":1,"name":"a"}', /not JSON/],
      ['a control character', '{"id":1,"name":"\u0001"}', /not JSON/],
      ['the id twice', '{"id":1,"name":"a","id":1}', /id is given twice/],
      ['the name twice', '{"name":"a","id":1,"name":"b"}', /name is given twice/],
      ['the tag twice', '{"tag":"a","id":1,"name":"b","tag":"a"}', /tag is given twice/],
      ['the name twice, once with an escape', '{"n\\u0061me":"a","id":1,"name":"b"}', /name is given twice/],
    ])('%s', async (_what, body, message) => {
      const response = await (body === undefined ? post() : post().send(body));

      expectError(response, 400, expect.stringMatching(message));
      expect(await service.rows()).toEqual([]);
    });

    it('Latin-1 instead of UTF-8', async () => {
      const response = await post().send(Buffer.from('{"id":1,"name":"Kalanchoë"}', 'latin1'));

      expectError(response, 400, expect.stringMatching(/UTF-8/));
      expect(await service.rows()).toEqual([]);
    });
  });

  describe('refuses another media type with error 415:', () => {
    it.each([
      ['text/plain'],
      ['application/jsonp'],
      ['application/vnd.api+json'],
      ['application/x-www-form-urlencoded'],
      ['application/json, application/json'],
      ['json'],
      [''],
    ])('%p', async (type) => {
      const response = await post().set('Content-Type', type).send(JSON.stringify(MONSTERA));

      expectError(response, 415);
      expect(await service.rows()).toEqual([]);
    });

    it('a compressed body', async () => {
      const response = await post().set('Content-Encoding', 'gzip').send(JSON.stringify(MONSTERA));

      expectError(response, 415);
    });
  });

  describe('with a body', () => {
    it('of 1 MiB creates the plant', async () => {
      const frame = '{"id":1,"name":""}';
      const name = 'n'.repeat(1_048_576 - frame.length);

      const response = await post().send(`{"id":1,"name":"${name}"}`);

      expect(response.status).toBe(200);
      expect(response.body).toEqual({ name });
    });

    it('of more than 1 MiB refuses it with error 413', async () => {
      const response = await post().send(' '.repeat(1_048_577));

      expectError(response, 413, 'The body is too large: at most 1048576 bytes are accepted.');
    });
  });

  describe('with an id that exists', () => {
    beforeEach(async () => {
      await post().send(JSON.stringify(MONSTERA)).expect(200);
    });

    it('and the same name and tag gives the same answer, and stores nothing', async () => {
      const response = await post().send('{"tag":"indoor","name":"Monstera","id":1.0}');

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
      const response = await post().send(body);

      expectError(response, 409);
      expect(await service.rows()).toEqual([MONSTERA_ROW]);
    });

    it('in concurrent requests creates one plant, and refuses other names with error 409', async () => {
      const names = Array.from({ length: 50 }, (_, index) => `name ${index % 5}`);

      const responses = await Promise.all(names.map((name) => post().send(JSON.stringify({ id: 2, name }))));

      const [, stored] = await service.rows();
      expect(responses.map(({ status, body }) => [status, (body as { error?: number }).error])).toEqual(
        names.map((name) => (name === stored?.name ? [200, undefined] : [400, 409])),
      );
    });
  });

  describe('with a path in {base_url}', () => {
    it('exists only below that path', async () => {
      const below = await startService({ basePath: '/garden/v1' });
      try {
        const send = (url: string): request.Test =>
          request(`http://127.0.0.1:${below.port}`).post(url).set('Authorization', `Bearer ${TOKEN}`).send(MONSTERA);

        expect((await send('/garden/v1/plants')).status).toBe(200);
        for (const url of ['/plants', '/garden/plants', '/garden/v1', '/v1/plants', '/']) {
          expectError(await send(url), 404);
        }
      } finally {
        await below.close();
      }
    });
  });
});

describe('Routing', () => {
  it.each([
    '/',
    '/plant',
    '/plants/',
    '/plants/1',
    '//plants',
    '/Plants',
    '/plants.json',
    '/docs',
    '/health',
    '/%2Fplants',
  ])('refuses the path %s with error 404', async (path) => {
    expectError(await post(path).send(JSON.stringify(MONSTERA)), 404);
    expect(await service.rows()).toEqual([]);
  });

  it.each(['get', 'put', 'patch', 'delete', 'options'] as const)(
    'refuses %s /plants with error 405',
    async (method) => {
      const response = await request(service.url)[method]('/plants').set('Authorization', `Bearer ${TOKEN}`);

      expectError(response, 405);
      expect(response.headers.allow).toBe('POST');
    },
  );

  it('refuses HEAD /plants without a body in the answer', async () => {
    const response = await request(service.url).head('/plants').set('Authorization', `Bearer ${TOKEN}`);

    expect(response.status).toBe(400);
    expect(response.headers.allow).toBe('POST');
    expect(response.text).toBeUndefined();
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
    await post().send(JSON.stringify(MONSTERA)).expect(200);
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
