import { METHODS } from 'node:http';
import { CLOSE, expectOneRefusal, KEEP_ALIVE } from '../support/http-answers.js';
import { message } from '../support/http-messages.js';
import { converse } from '../support/raw-client.js';
import { sharedService } from '../support/service.js';

describe.each([
  ['', '/plants'],
  ['/v1', '/v1/plants'],
])('A request with a valid token and base path "%s"', (basePath, path) => {
  const service = sharedService({ basePath });

  afterEach(async () => {
    expect(await service.rows()).toEqual([]);
  });

  /** Sends a request without a body, and expects exactly one refusal. */
  async function expectRefused(method: string, target: string, error: number): Promise<void> {
    const bytes = message({ line: `${method} ${target} HTTP/1.1`, framing: [], body: '' });
    await expectOneRefusal(service.port, bytes, error, KEEP_ALIVE, method);
  }

  it.each(METHODS.filter((method) => method !== 'CONNECT' && method !== 'POST'))(
    'is refused with error 405 with the method %s, and 404 on another path',
    async (method) => {
      await expectRefused(method, path, 405);
      await expectRefused(method, '/elsewhere', 404);
    },
  );

  it.each([`${path}?a=b`, `http://plants.example${path}`, path.replace('p', '%70')])(
    'is refused with error 405 for GET %s',
    (target) => expectRefused('GET', target, 405),
  );

  it.each([
    '/',
    `/${path}`,
    `${path}/`,
    path.replace('p', 'P'),
    basePath === '' ? '/%2Fplants' : '/v1%2Fplants',
    path.replace('/p', '/./p'),
    path.replace('p', '%2570'),
    `${path}%3F`,
    `${path}%ff`,
    basePath === '' ? '/v1/plants' : '/plants',
    '/%2A',
    '/:a(',
    '/%ff',
    '/%ff%fe',
    'http://plants.example?plants',
  ])('is refused with error 404 on %s', (target) => expectRefused('POST', target, 404));

  it('is refused with error 404 for OPTIONS *', () => expectRefused('OPTIONS', '*', 404));

  it.each([
    ['plants.example:443', {}],
    ['[::1]:80', {}],
    ['plants.example:443 without a token', { authorization: [] }],
  ])('is refused with error 400 for CONNECT %s', async (target, parts) => {
    const line = `CONNECT ${target.replace(/ .*/, '')} HTTP/1.1`;
    await expectOneRefusal(service.port, message({ line, ...parts }), 400, CLOSE);
  });

  it('is told the method that the path supports', async () => {
    const [answer] = await converse(service.port, message({ line: `GET ${path} HTTP/1.1` }));

    expect(JSON.parse(answer?.body ?? '')).toEqual({
      error: 405,
      message: 'This path does not support this method: use POST.',
    });
  });

  it('is told the path that exists, and nothing of its own', async () => {
    const [answer] = await converse(service.port, message({ line: 'GET /elsewhere?a HTTP/1.1' }));

    expect(JSON.parse(answer?.body ?? '')).toEqual({
      error: 404,
      message: `There is no such path: use POST ${path}.`,
    });
  });
});
