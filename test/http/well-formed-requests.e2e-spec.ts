import { chunks, CLOSE, expectPlant, KEEP_ALIVE, message, type Parts, plant } from '../support/http-messages.js';
import { converse } from '../support/raw-client.js';
import { sharedService } from '../support/service.js';

describe('A valid request', () => {
  const CHUNKED = ['Transfer-Encoding: chunked'];
  const service = sharedService();

  afterEach(async () => {
    expect(await service.rows()).toEqual([{ id: 1n, name: 'Plant 1', tag: null }]);
  });

  it.each<[string, Parts]>([
    ['an empty Host', { host: ['Host:'] }],
    ['a Host with an empty port', { host: ['Host: plants.example:'] }],
    ['a Host that is an IPv6 address with a port', { host: ['Host: [::ffff:192.0.2.1]:80'] }],
    ['a Host of a later IP version', { host: ['Host: [v1f.plants:1]'] }],
    ['a Host with escapes', { host: ['Host: pl%C3%A4nts.example'] }],
    ['HTTP/1.0 with keep-alive', { line: 'POST /plants HTTP/1.0', more: ['Connection: keep-alive'] }],
    ['the path in its escaped form', { line: 'POST /%70l%61nts HTTP/1.1' }],
    ['a query that is not UTF-8', { line: 'POST /plants?%ff HTTP/1.1' }],
    ['a query', { line: 'POST /plants?a=%C3%A4&b=/?:@ HTTP/1.1' }],
    ['an absolute form with a port and a query', { line: 'POST HTTPS://other.example:443/plants?a HTTP/1.1' }],
    ['an absolute form with an IPv6 address', { line: 'POST http://[::1]:80/%70lants HTTP/1.1' }],
    ['the media type Application/JSON', { type: ['Content-Type: Application/JSON'] }],
    ['a parameter of its media type', { type: ['Content-Type: application/json ;charset=latin1'] }],
    ['chunks', { framing: ['Transfer-Encoding: Chunked'], body: chunks('{"id":1,', '"name":"Plant 1"}') }],
    [
      'trailers, which are ignored',
      { framing: CHUNKED, body: `19\r\n${plant(1)}\r\n0\r\nHost: a b\r\nAuthorization: none\r\nExpect: more\r\n\r\n` },
    ],
  ])('is accepted with %s, and gets one answer', async (_what, parts) => {
    const [answer] = await converse(service.port, message(parts));

    expectPlant(answer, 1, KEEP_ALIVE);
  });

  const UPGRADE = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c'];

  it.each<[string, Parts]>([
    ['no Host in HTTP/1.0', { line: 'POST /plants HTTP/1.0', host: [] }],
    ['Connection: close among others', { more: ['Connection: x-more, CLOSE'] }],
    ['Upgrade to HTTP/2 (RFC 7540 §3.2)', { more: UPGRADE }],
  ])('is accepted with %s, and gets one answer that ends the connection', async (_what, parts) => {
    const [answer] = await converse(service.port, message(parts));

    expectPlant(answer, 1, CLOSE);
  });

  it('is accepted byte by byte', async () => {
    const [answer] = await converse(service.port, Array.from(message()));

    expectPlant(answer, 1, KEEP_ALIVE);
  });
});
