import {
  AUTHORIZATION,
  chunkedMessage,
  chunks,
  CLOSE,
  expectOneRefusal,
  expectRefusal,
  KEEP_ALIVE,
  message,
  type Parts,
  plant,
} from '../support/http-messages.js';
import { converse, everyConnectionIsClosed, RawClient } from '../support/raw-client.js';
import { type Service, startService } from '../support/service.js';

afterAll(everyConnectionIsClosed);

describe('A request', () => {
  /** Node's maxHeaderSize, which limits the URL and the names and values of the headers together. */
  const LIMIT = 16_384;
  let service: Service;

  beforeAll(async () => {
    service = await startService({ bodyLimit: 20_000 });
  });

  afterEach(async () => {
    expect(await service.rows()).toEqual([]);
  });

  afterAll(() => service.close());

  /** Returns what counts towards the limit. */
  function counted(bytes: string): number {
    const [line = '', ...headers] = bytes.slice(0, bytes.indexOf('\r\n\r\n')).split('\r\n');
    return [line.split(' ')[1] ?? '', ...headers.flatMap((header) => header.split(/:\s*/))].join('').length;
  }

  /** Returns a request without a token whose URL fills the head up to this size. */
  function withUrl(size: number, parts: Parts = {}): string {
    const filled = (fill: number): string =>
      message({ line: `POST /${'a'.repeat(fill)} HTTP/1.1`, authorization: [], ...parts });
    return filled(size - counted(filled(0)));
  }

  /** Returns a request without a token whose last header fills the head up to this size. */
  function withHeader(size: number, content: string, parts: Parts = {}): string {
    const filled = (fill: number): string =>
      message({ authorization: [], more: [`X-More: ${content}${'a'.repeat(fill)}`], ...parts });
    return filled(size - counted(filled(0)));
  }

  function packets(bytes: string, size: number): string[] {
    return bytes.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
  }

  it.each([
    ['URL and headers', withUrl(LIMIT - 1)],
    ['headers', withHeader(LIMIT - 1, '')],
  ])('is not too large if its %s are below the limit', async (_what, bytes) => {
    for (const pieces of [[bytes], packets(bytes, 1_000), packets(bytes, 8_192)]) {
      const { answers, ending } = await converse(service.port, pieces);

      expectRefusal(answers[0], 401);
      expect(ending).toBe('FIN');
    }
  });

  it('may have 256 headers, of which the last one is its token', async () => {
    const line = 'GET /plants HTTP/1.1';
    // Host, Content-Type and Content-Length are the others.
    const headers = [...Array<string>(252).fill('A: 1'), AUTHORIZATION];
    const { answers } = await converse(service.port, message({ line, authorization: headers }));
    const refused = await converse(service.port, message({ line, authorization: ['A: 1', ...headers] }));

    expectRefusal(answers[0], 405);
    expectRefusal(refused.answers[0], 431, CLOSE);
  });

  it.each([257, 2_000, 7_000])('is refused with error 431 for %i headers, whatever they are', async (count) => {
    for (const pieces of [1_000_000, 1_000]) {
      const bytes = message({ authorization: Array<string>(count).fill('A: 1') });
      const { answers, ending } = await converse(service.port, packets(bytes, pieces));

      expectRefusal(answers[0], 431, CLOSE);
      expect(ending).toBe('FIN');
    }
  });

  it.each<[number, string, string]>([
    [414, 'a URL at the limit', message({ line: `POST /${'a'.repeat(LIMIT - 1)} HTTP/1.1` })],
    [414, 'a URL over the limit', message({ line: `POST /${'a'.repeat(LIMIT)} HTTP/1.1` })],
    [414, 'a URL far over the limit', message({ line: `POST /${'a'.repeat(LIMIT * 20)} HTTP/1.1` })],
    [414, 'a long query', message({ line: `POST /plants?${'a=b&'.repeat(LIMIT)} HTTP/1.1` })],
    [414, 'a long URL of another method', message({ line: `M-SEARCH /${'a'.repeat(LIMIT)} HTTP/1.1` })],
    [414, 'a long URL in absolute form', message({ line: `GET http://plants.example/${'a'.repeat(LIMIT)} HTTP/1.1` })],
    [431, 'headers at the limit', withHeader(LIMIT, '')],
    [431, 'headers over the limit', withHeader(LIMIT + 1, '')],
    [431, 'headers far over the limit', withHeader(LIMIT * 20, '')],
    [431, 'a header that looks like a request line', withHeader(LIMIT * 2, 'GET /')],
    [431, 'a header with spaces', message({ more: [`Cookie: ${'a=b; '.repeat(LIMIT)}`] })],
    [431, 'a long header name', message({ more: [`${'a'.repeat(LIMIT)}: 1`] })],
    [431, 'many headers', message({ more: Array<string>(LIMIT).fill('A: 1') })],
    [431, 'a long URL and a long header', withHeader(LIMIT, '', { line: `POST /${'a'.repeat(LIMIT - 500)} HTTP/1.1` })],
  ])('is refused with error %d for %s', async (error, _what, bytes) => {
    await expectOneRefusal(service.port, bytes, error, CLOSE);
  });

  // Node does not tell in which line a packet begins.
  it.each([1_000, 8_192, 16_383])('is refused with error 431 for a long URL in packets of %d bytes', async (size) => {
    const bytes = message({ line: `POST /${'a'.repeat(LIMIT)} HTTP/1.1` });
    await expectOneRefusal(service.port, packets(bytes, size), 431, CLOSE);
  });

  it('is refused with error 414 in one packet with the previous request', async () => {
    const before = message({ line: 'GET /plants HTTP/1.1', framing: [], body: '' });
    const bytes = before + message({ line: `POST /${'a'.repeat(LIMIT)} HTTP/1.1` });
    const { answers, ending } = await converse(service.port, bytes, { answers: 2 });

    expectRefusal(answers[0], 405, KEEP_ALIVE);
    expectRefusal(answers[1], 414, CLOSE);
    expect(ending).toBe('FIN');
  });

  it.each([
    ['a URL', `POST /${'a'.repeat(2 * LIMIT)}`],
    ['a header', `POST / HTTP/1.1\r\nX-More: ${'a'.repeat(2 * LIMIT)}`],
  ])('is refused when the line of %s does not end', async (_what, bytes) => {
    for (const pieces of [[bytes], packets(bytes, 10_000)]) {
      const { answers, ending } = await converse(service.port, pieces);

      expect(JSON.parse(answers[0]?.body ?? '')).toMatchObject({ error: expect.any(Number) as unknown });
      expect(answers).toHaveLength(1);
      expect(ending).toBe('FIN');
    }
  });

  it.each<[string, string]>([
    ['its declared length, before the body', message({ framing: ['Content-Length: 20001'], body: '' })],
    ['a declared length of 2^64 - 1', message({ framing: ['Content-Length: 18446744073709551615'], body: '' })],
    ['the size of a chunk', chunkedMessage(`4e21\r\n${' '.repeat(20_001)}`)],
    ['many small chunks', chunkedMessage('1\r\n \r\n'.repeat(20_001))],
    ['one byte in the last chunk', chunkedMessage(chunks(' '.repeat(20_000), ' '))],
  ])('is refused with error 413 for %s', async (_what, bytes) => {
    await expectOneRefusal(service.port, bytes, 413);
  });

  it('is refused with error 413 for an endless chunk extension', async () => {
    const { answers, ending } = await converse(service.port, chunkedMessage(`19;${'a'.repeat(20_000)}`));

    expectRefusal(answers[0], 413, CLOSE);
    expect(answers).toHaveLength(1);
    expect(ending).toBe('FIN');
  });

  it('is refused with error 431 for endless trailers', async () => {
    await expectOneRefusal(service.port, chunkedMessage(`0\r\nX-More: ${'a'.repeat(20_000)}`), 431, CLOSE);
  });

  it('is refused with error 413 before its last chunk', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(chunkedMessage(`4e21\r\n${' '.repeat(20_001)}\r\n`));

    expectRefusal(await client.answer(), 413, CLOSE);
    await client.send(`19\r\n${plant(1)}\r\n0\r\n\r\n`);
    expect(await client.hangUp()).toBe('FIN');
  });
});
