import { METHODS } from 'node:http';
import { AUTHORIZATION, chunks, CLOSE, expectRefusal, message, plant } from '../support/http-messages.js';
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

  describe.each(METHODS.filter((method) => method !== 'CONNECT'))('%s', (method) => {
    const targets = [
      ...['/plants', '/', '/elsewhere', '/%ff', '/*', '/:plant'],
      ...[`/${'a'.repeat(8_000)}`, 'http://plants.example'],
    ];

    it('is refused with error 401 on any path', async () => {
      for (const target of targets) {
        const bytes = message({ line: `${method} ${target} HTTP/1.1`, authorization: [], framing: [], body: '' });
        const { answers, ending } = await converse(service.port, bytes, { method });

        expectRefusal(answers[0], 401, CLOSE, method);
        expect(answers).toHaveLength(1);
        expect(ending).toBe('FIN');
      }
    });

    it('is refused with error 401 with any body', async () => {
      for (const body of [plant(1), 'not JSON', chunks('not JSON')]) {
        const framing = body.endsWith('\r\n') ? { framing: ['Transfer-Encoding: chunked'] } : {};
        const line = `${method} ${targets[0] ?? ''} HTTP/1.1`;
        const bytes = message({ line, authorization: [], type: [], ...framing, body });
        const { answers, ending } = await converse(service.port, bytes, { method });

        expectRefusal(answers[0], 401, CLOSE, method);
        expect(answers).toHaveLength(1);
        expect(ending).toBe('FIN');
      }
    });

    it('is refused with error 401 before its body', async () => {
      for (const framing of [
        ['Content-Length: 25'],
        ['Content-Length: 3000000'],
        [`Content-Length: ${Number.MAX_SAFE_INTEGER}`],
        ['Transfer-Encoding: chunked'],
        ['Content-Length: 25', 'Expect: 100-continue'],
        ['Content-Length: 25', 'Expect: a-miracle'],
      ]) {
        const line = `${method} ${targets[0] ?? ''} HTTP/1.1`;
        const bytes = message({ line, authorization: [], framing, body: '' });
        const { answers, ending } = await converse(service.port, bytes, { method });

        expectRefusal(answers[0], 401, CLOSE, method);
        expect(answers).toHaveLength(1);
        expect(ending).toBe('FIN');
      }
    });
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
    const { answers, ending } = await converse(service.port, message({ authorization }));

    expectRefusal(answers[0], 401);
    expect(answers).toHaveLength(1);
    expect(ending).toBe('FIN');
  });
});
