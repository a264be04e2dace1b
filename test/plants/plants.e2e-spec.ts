import { created, post, refusal, TOKEN } from '../support/client.js';
import { sharedService } from '../support/service.js';
import type { Row } from '../support/store.js';

const BODY = '{"id":1,"name":"Monstera","tag":"indoor"}';
const MONSTERA_ROW: Row = { id: 1n, name: 'Monstera', tag: 'indoor' };

/** A text that a trim or a normalisation would change. */
const ODD = ' \t\ufeffe\u0301 \u{1fab4}\u200d\r\n\u0001 ';

/** Of two bytes a character. */
const LARGE = 'ü'.repeat((1_048_576 - '{"id":1,"name":""}'.length) / 2);

describe('POST /plants', () => {
  // Not outside: the server of PostgreSQL would be gone before the service closes.
  const service = sharedService();

  beforeEach(() => service.store.query('DELETE FROM plants'));

  it.each<{ what: string; body: string; stored: Row }>([
    { what: 'the name and the tag', body: BODY, stored: MONSTERA_ROW },
    { what: 'no tag', body: '{"id":1,"name":"Aloe"}', stored: { id: 1n, name: 'Aloe', tag: null } },
    { what: 'an empty name and tag', body: '{"id":1,"name":"","tag":""}', stored: { id: 1n, name: '', tag: '' } },
    {
      what: 'the text as it is',
      body: JSON.stringify({ id: 1, name: ODD, tag: ODD }),
      stored: { id: 1n, name: ODD, tag: ODD },
    },
    {
      what: 'no unknown field',
      body: BODY.replace('}', ',"x":{"id":2,"id":3},"y":1,"y":2,"__proto__":{"tag":"no"},"access_token":"no"}'),
      stored: MONSTERA_ROW,
    },
    { what: 'a plant behind a byte order mark', body: `\ufeff${BODY}`, stored: MONSTERA_ROW },
    { what: 'a plant of 1 MiB', body: `{"id":1,"name":"${LARGE}"}`, stored: { id: 1n, name: LARGE, tag: null } },
  ])('stores and answers $what', async ({ body, stored }) => {
    const response = await fetch(`${service.url}/plants`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
      body,
    });

    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    const { name, tag } = stored;
    expect(await response.text()).toBe(JSON.stringify({ name, tag: tag ?? undefined }));
    expect(await service.rows()).toEqual([stored]);
  });

  it('stores each id exactly, however it is written', async () => {
    const ids = [
      '-9223372036854775808',
      '-0',
      '7001.0',
      '7e3',
      '9007199254740992',
      '9007199254740993',
      '9223372036854775807',
    ];

    for (const id of ids) expect(await post(service.url, `{"id":${id},"name":"A"}`)).toEqual(created('A'));
    const stored = [
      -9223372036854775808n,
      0n,
      7000n,
      7001n,
      9007199254740992n,
      9007199254740993n,
      9223372036854775807n,
    ];
    expect((await service.rows()).map(({ id }) => id)).toEqual(stored);
  });

  it('checks token, path, method, body present, media type, size, JSON, fields and store in this order', async () => {
    await post(service.url, BODY);
    let attempt = { token: 'wrong', path: '/trees', method: 'PUT', body: '', type: 'text/plain' };
    /** The errors of one request, in the order in which it gets them, each with its correction. */
    const errors: [error: number, correction: Partial<typeof attempt>][] = [
      [401, { token: TOKEN }],
      [404, { path: '/plants' }],
      [405, { method: 'POST' }],
      [400, { body: '!'.repeat(2_000_000) }],
      [415, { type: 'application/json' }],
      [413, { body: '{"id":' }],
      [400, { body: '{"id":"1","name":"Ficus"}' }],
      [422, { body: '{"id":1,"name":"Ficus"}' }],
      [409, { body: BODY }],
    ];
    const send = async (): Promise<unknown> => {
      const { token, path, method, body, type } = attempt;
      const headers = { Authorization: `Bearer ${token}`, 'Content-Type': type };
      const response = await fetch(service.url + path, { method, headers, body: body === '' ? null : body });
      return response.json();
    };
    for (const [error, correction] of errors) {
      expect(await send()).toMatchObject({ error });
      attempt = { ...attempt, ...correction };
    }
    expect(await send()).toEqual({ name: 'Monstera', tag: 'indoor' });
  });

  describe('with an id that exists', () => {
    beforeEach(() => post(service.url, BODY));

    it('and the same name and tag gives the same answer, and stores nothing', async () => {
      const answer = await post(service.url, '{"tag":"indoor","name":"Monstera","id":1.0}');

      expect(answer).toMatchObject({ status: 200, body: { name: 'Monstera', tag: 'indoor' } });
      expect(await service.rows()).toEqual([MONSTERA_ROW]);
    });

    it.each(['{"id":1,"name":"Ficus","tag":"indoor"}', '{"id":1,"name":"Monstera"}'])(
      'refuses %s with error 409, and does not change the stored plant',
      async (body) => {
        expect(await post(service.url, body)).toEqual(refusal(409));
        expect(await service.rows()).toEqual([MONSTERA_ROW]);
      },
    );
  });
});
