import { chunks, CLOSE, expectPlant, KEEP_ALIVE, message, type Parts, plant } from '../support/http-messages.js';
import { converse, everyConnectionIsClosed } from '../support/raw-client.js';
import { type Service, startService } from '../support/service.js';

afterAll(everyConnectionIsClosed);

describe('A valid request', () => {
  let service: Service;

  beforeAll(async () => {
    service = await startService();
  });

  afterEach(async () => {
    expect(await service.rows()).toEqual([{ id: 1n, name: 'Plant 1', tag: null }]);
  });

  afterAll(() => service.close());

  it.each<[string, Parts, Record<string, string>]>([
    ['an empty Host', { host: ['Host:'] }, KEEP_ALIVE],
    ['a Host with a port', { host: ['Host: plants.example:8080'] }, KEEP_ALIVE],
    ['a Host with an empty port', { host: ['Host: plants.example:'] }, KEEP_ALIVE],
    ['a Host that is an IPv4 address', { host: ['Host: 192.0.2.1:80'] }, KEEP_ALIVE],
    ['a Host that is an IPv6 address', { host: ['Host: [2001:db8::1]'] }, KEEP_ALIVE],
    ['a Host that is an IPv6 address with a port', { host: ['Host: [::ffff:192.0.2.1]:80'] }, KEEP_ALIVE],
    ['a Host of a later IP version', { host: ['Host: [v1f.plants:1]'] }, KEEP_ALIVE],
    ['a Host with escapes', { host: ['Host: pl%C3%A4nts.example'] }, KEEP_ALIVE],
    ['a Host in mixed case with white space', { host: ['hOST:\t PLANTS.example \t'] }, KEEP_ALIVE],
    ['no Host in HTTP/1.0', { line: 'POST /plants HTTP/1.0', host: [] }, CLOSE],
    ['HTTP/1.0 with keep-alive', { line: 'POST /plants HTTP/1.0', more: ['Connection: keep-alive'] }, KEEP_ALIVE],
    ['the path in its escaped form', { line: 'POST /%70l%61nts HTTP/1.1' }, KEEP_ALIVE],
    ['a query that is not UTF-8', { line: 'POST /plants?%ff HTTP/1.1' }, KEEP_ALIVE],
    ['a query', { line: 'POST /plants?a=%C3%A4&b=/?:@ HTTP/1.1' }, KEEP_ALIVE],
    ['an absolute form', { line: 'POST http://other.example/plants HTTP/1.1' }, KEEP_ALIVE],
    [
      'an absolute form with a port and a query',
      { line: 'POST HTTPS://other.example:443/plants?a HTTP/1.1' },
      KEEP_ALIVE,
    ],
    ['an absolute form with an IPv6 address', { line: 'POST http://[::1]:80/%70lants HTTP/1.1' }, KEEP_ALIVE],
    ['spaces in the request line (RFC 9112 §3)', { line: 'POST  /plants  HTTP/1.1' }, KEEP_ALIVE],
    ['an empty line before it', { line: '\r\nPOST /plants HTTP/1.1' }, KEEP_ALIVE],
    ['a Content-Length with zeros before it', { framing: [`Content-Length: ${'0'.repeat(100)}25`] }, KEEP_ALIVE],
    [
      'the media type application/json; charset=utf-8',
      { type: ['Content-Type: application/json; charset=utf-8'] },
      KEEP_ALIVE,
    ],
    ['the media type Application/JSON', { type: ['Content-Type: Application/JSON'] }, KEEP_ALIVE],
    [
      'the media type application/json;charset=latin1',
      { type: ['Content-Type: application/json;charset=latin1'] },
      KEEP_ALIVE,
    ],
    ['the media type application/json ;x=1', { type: ['Content-Type: application/json ;x=1'] }, KEEP_ALIVE],
    ['obsolete text in a header', { more: ['X-More: \xe4\xff'] }, KEEP_ALIVE],
    ['an empty header', { more: ['X-More:'] }, KEEP_ALIVE],
    ['Connection: close', { more: ['Connection: close'] }, CLOSE],
    ['Connection: close among others', { more: ['Connection: x-more, CLOSE'] }, CLOSE],
    ['Upgrade to HTTP/2 (RFC 7540 §3.2)', { more: ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c'] }, CLOSE],
    ['Upgrade to WebSocket', { more: ['Connection: Upgrade', 'Upgrade: websocket'] }, CLOSE],
    ['chunks', { framing: ['Transfer-Encoding: chunked'], body: chunks('{"id":1,', '"name":"Plant 1"}') }, KEEP_ALIVE],
    ['chunks, written as Chunked', { framing: ['Transfer-Encoding: Chunked'], body: chunks(plant(1)) }, KEEP_ALIVE],
    [
      'chunks and Upgrade to HTTP/2',
      {
        framing: ['Transfer-Encoding: chunked'],
        more: ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c'],
        body: chunks(plant(1)),
      },
      CLOSE,
    ],
    [
      'chunk extensions',
      { framing: ['Transfer-Encoding: chunked'], body: `19;a=b;c="d"\r\n${plant(1)}\r\n0;e\r\n\r\n` },
      KEEP_ALIVE,
    ],
    [
      'trailers, which are ignored',
      {
        framing: ['Transfer-Encoding: chunked'],
        body: `19\r\n${plant(1)}\r\n0\r\nHost: a b\r\nAuthorization: none\r\nExpect: more\r\n\r\n`,
      },
      KEEP_ALIVE,
    ],
  ])('is accepted with %s, and gets one answer', async (_what, parts, headers) => {
    const { answers, ending } = await converse(service.port, message(parts));

    expectPlant(answers[0], 1, headers);
    expect(answers).toHaveLength(1);
    expect(ending).toBe('FIN');
  });

  it('is accepted byte by byte', async () => {
    const { answers } = await converse(service.port, Array.from(message()));

    expectPlant(answers[0], 1, KEEP_ALIVE);
  });
});
