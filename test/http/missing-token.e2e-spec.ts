import { METHODS } from 'node:http';
import { CLOSE, expectOneRefusal } from '../support/http-answers.js';
import { AUTHORIZATION, message, type Parts } from '../support/http-messages.js';
import { sharedService } from '../support/service.js';

describe('A request without a valid token', () => {
  const service = sharedService();

  afterEach(async () => {
    expect(await service.rows()).toEqual([]);
  });

  it.each(METHODS.filter((method) => method !== 'CONNECT'))(
    'is refused with error 401 with the method %s',
    (method) => {
      const bytes = message({ line: `${method} /plants HTTP/1.1`, authorization: [], framing: [], body: '' });
      return expectOneRefusal(service.port, bytes, 401, CLOSE, method);
    },
  );

  it.each(['POST /', 'POST /%ff', 'POST /%FF', 'POST /*', 'POST /:plant', 'POST http://plants.example', 'OPTIONS *'])(
    'is refused with error 401 on the path of %s',
    (line) => expectOneRefusal(service.port, message({ line: `${line} HTTP/1.1`, authorization: [] }), 401, CLOSE),
  );

  it.each<[string, Parts]>([
    ['a body that is not JSON', { body: 'not JSON' }],
    ['a body that does not come', { framing: ['Content-Length: 25'], body: '' }],
    ['a body over the limit that does not come', { framing: ['Content-Length: 3000000'], body: '' }],
    ['another expectation', { framing: ['Content-Length: 25', 'Expect: a-miracle'], body: '' }],
  ])('is refused with error 401 with %s', async (_what, parts) => {
    await expectOneRefusal(service.port, message({ authorization: [], ...parts }), 401, CLOSE);
  });

  it.each<[string, readonly string[]]>([
    ['equal ones', [AUTHORIZATION, AUTHORIZATION]],
    ['an invalid one before a valid one', ['Authorization: Bearer none', AUTHORIZATION]],
    ['an empty one before a valid one', ['Authorization:', AUTHORIZATION]],
    ['many headers between them', [AUTHORIZATION, ...Array<string>(240).fill('A: 1'), AUTHORIZATION]],
  ])('is refused with error 401 for two Authorization headers: %s', async (_what, authorization) => {
    await expectOneRefusal(service.port, message({ authorization }), 401);
  });
});
