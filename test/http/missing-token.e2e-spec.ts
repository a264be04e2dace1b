import { METHODS } from 'node:http';
import {
  AUTHORIZATION,
  chunks,
  CLOSE,
  expectOneRefusal,
  expectRefusal,
  message,
  type Parts,
  plant,
} from '../support/http-messages.js';
import { converse, everyConnectionIsClosed } from '../support/raw-client.js';
import { type Service, startService } from '../support/service.js';

afterAll(everyConnectionIsClosed);

describe('A request without a valid token', () => {
  let service: Service;

  beforeAll(async () => {
    service = await startService();
  });

  afterEach(async () => {
    expect(await service.rows()).toEqual([]);
  });

  afterAll(() => service.close());

  it.each(METHODS.filter((method) => method !== 'CONNECT'))(
    'is refused with error 401 with the method %s',
    (method) => {
      const bytes = message({ line: `${method} /plants HTTP/1.1`, authorization: [], framing: [], body: '' });
      return expectOneRefusal(service.port, bytes, 401, CLOSE, method);
    },
  );

  it.each(['/', '/elsewhere', '/%ff', '/*', '/:plant', `/${'a'.repeat(8_000)}`, 'http://plants.example'])(
    'is refused with error 401 on the path %.30s',
    (path) => {
      const bytes = message({ line: `POST ${path} HTTP/1.1`, authorization: [] });
      return expectOneRefusal(service.port, bytes, 401, CLOSE);
    },
  );

  it.each<[string, Parts]>([
    ['a plant', { body: plant(1) }],
    ['no JSON', { body: 'not JSON' }],
    ['no JSON in chunks', { framing: ['Transfer-Encoding: chunked'], body: chunks('not JSON') }],
    ['a body of another type', { type: ['Content-Type: text/plain'] }],
    ['a body that does not come', { framing: ['Content-Length: 25'], body: '' }],
    ['a body over the limit that does not come', { framing: ['Content-Length: 3000000'], body: '' }],
    ['chunks that do not come', { framing: ['Transfer-Encoding: chunked'], body: '' }],
    ['100-continue', { framing: ['Content-Length: 25', 'Expect: 100-continue'], body: '' }],
    ['another expectation', { framing: ['Content-Length: 25', 'Expect: a-miracle'], body: '' }],
  ])('is refused with error 401 with %s', async (_what, parts) => {
    await expectOneRefusal(service.port, message({ authorization: [], ...parts }), 401, CLOSE);
  });

  it('is refused with error 401 for OPTIONS *', async () => {
    const { answers } = await converse(service.port, message({ line: 'OPTIONS * HTTP/1.1', authorization: [] }));

    expectRefusal(answers[0], 401);
  });

  it.each<[string, readonly string[]]>([
    ['equal ones', [AUTHORIZATION, AUTHORIZATION]],
    ['a valid one before an invalid one', [AUTHORIZATION, 'Authorization: Bearer none']],
    ['an invalid one before a valid one', ['Authorization: Bearer none', AUTHORIZATION]],
    ['a valid one before an empty one', [AUTHORIZATION, 'Authorization:']],
    ['an empty one before a valid one', ['Authorization:', AUTHORIZATION]],
    ['a valid one before one of another scheme', [AUTHORIZATION, 'Authorization: Basic dXNlcjpwYXNz']],
    ['one of another scheme before a valid one', ['Authorization: Basic dXNlcjpwYXNz', AUTHORIZATION]],
    ['names in different case', [AUTHORIZATION, AUTHORIZATION.replace('Authorization', 'aUTHORIZATION')]],
    ['many headers between them', [AUTHORIZATION, ...Array<string>(240).fill('A: 1'), AUTHORIZATION]],
  ])('is refused with error 401 for two Authorization headers: %s', async (_what, authorization) => {
    await expectOneRefusal(service.port, message({ authorization }), 401);
  });
});
