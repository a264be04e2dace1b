import { CLOSE, expectOneRefusal, expectPlant, expectRefusal, KEEP_ALIVE } from '../support/http-answers.js';
import { chunkedMessage, chunks, message, type Parts, plant } from '../support/http-messages.js';
import { type Bytes, converse, RawClient } from '../support/raw-client.js';
import { sharedService } from '../support/service.js';

describe('The server', () => {
  const service = sharedService();

  /** Expects that the service still works, and that the case has stored nothing. */
  afterEach(async () => {
    const [answer] = await converse(service.port, message({ body: plant(999) }));
    expectPlant(answer, 999, KEEP_ALIVE);
    expect(await service.rows()).toEqual([{ id: 999n, name: 'Plant 999', tag: null }]);
  });

  const HTTP_1_0 = { line: 'POST /plants HTTP/1.0' };
  const CHUNKED = { framing: ['Transfer-Encoding: chunked'], body: chunks(plant(1)) };

  const notHttp: Record<string, Record<string, Parts>> = {
    'a request line': {
      'without a version (HTTP/0.9)': { line: 'POST /plants' },
      'with version 2.0': { line: 'POST /plants HTTP/2.0' },
      'of RTSP': { line: 'DESCRIBE /plants RTSP/1.0' },
      'with a method in lower case': { line: 'post /plants HTTP/1.1' },
    },
    'a header line': {
      'without a colon': { more: ['X-More'] },
      'with a bare LF in the value': { more: ['X-More: 1\nX-Another: 2'] },
      'that continues in the next line (obs-fold)': { more: ['X-More: 1,', '  2'] },
    },
    'a Content-Length': {
      'that is a list': { framing: ['Content-Length: 25, 25'] },
      'beside an equal one': { framing: ['Content-Length: 25', 'Content-Length: 25'] },
      'after Transfer-Encoding': { ...CHUNKED, framing: [...CHUNKED.framing, 'Content-Length: 36'] },
      'before Transfer-Encoding': { ...CHUNKED, framing: ['Content-Length: 36', ...CHUNKED.framing] },
    },
    'a Transfer-Encoding': {
      'that is empty before a length': { framing: ['Transfer-Encoding:', 'Content-Length: 25'] },
      'that is empty after a length': { framing: ['Content-Length: 25', 'Transfer-Encoding:'] },
      'of identity': { framing: ['Transfer-Encoding: identity'] },
      'of gzip, chunked': { ...CHUNKED, framing: ['Transfer-Encoding: gzip, chunked'] },
      'of gzip in another line': { ...CHUNKED, framing: ['Transfer-Encoding: gzip', ...CHUNKED.framing] },
      'in HTTP/1.0': { ...CHUNKED, ...HTTP_1_0 },
    },
    'a Host': {
      'that is missing in HTTP/1.1': { host: [] },
      'that is given twice, the first one empty': { host: ['Host:', 'Host: plants.example'] },
      'that is given twice in HTTP/1.0': { ...HTTP_1_0, host: ['Host: plants.example', 'Host: plants.example'] },
      'that is a list': { host: ['Host: plants.example, other.example'] },
      'with user information': { host: ['Host: user@plants.example'] },
      'with a port in words': { host: ['Host: plants.example:http'] },
      'that is an IPv6 address without brackets': { host: ['Host: ::1'] },
      'that is an invalid IPv6 address': { host: ['Host: [::1::2]'] },
    },
    'a request target': {
      'with an escape without digits': { line: 'POST /%zz HTTP/1.1' },
      'with an invalid escape in the query': { line: 'POST /plants?a=%zz HTTP/1.1' },
      'with bytes of UTF-8': { line: 'POST /plants/\xc3\xa4 HTTP/1.1' },
      'with a fragment': { line: 'POST /plants#first HTTP/1.1' },
      'without a slash at its start': { line: 'POST plants HTTP/1.1' },
      'that is an asterisk, of a method other than OPTIONS': { line: 'GET * HTTP/1.1' },
      'that is an authority, of a method other than CONNECT': { line: 'POST plants.example:80 HTTP/1.1' },
      'in absolute form without a host': { line: 'POST http:///plants HTTP/1.1' },
      'in absolute form with a port alone': { line: 'POST http://:80/plants HTTP/1.1' },
      'in absolute form with user information': { line: 'POST http://user@plants.example/plants HTTP/1.1' },
      'in absolute form without a path and with an invalid query': { line: 'POST http://plants.example?%zz HTTP/1.1' },
      'in absolute form without Host': { line: 'POST http://plants.example/plants HTTP/1.1', host: [] },
      'that is a path, of CONNECT': { line: 'CONNECT /plants HTTP/1.1' },
    },
  };

  describe.each(Object.entries(notHttp))('%s', (_what, cases) => {
    it.each(Object.entries(cases))('%s is refused with error 400, once', async (_case, parts) => {
      await expectOneRefusal(service.port, message(parts), 400, CLOSE);
    });

    it('is refused with error 400 without a token, too', async () => {
      const [parts] = Object.values(cases);
      await expectOneRefusal(service.port, message({ authorization: [], ...parts }), 400, CLOSE);
    });
  });

  it.each<[string, Bytes | readonly Bytes[]]>([
    ['garbage', 'The quick brown fox\r\n\r\n'],
    ['a TLS ClientHello', Buffer.from('16030100c8010000c40303' + '5a'.repeat(32) + '20' + 'a5'.repeat(160), 'hex')],
    ['the preface of HTTP/2 and a SETTINGS frame', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0'],
    ['a PROXY line', `PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n${message()}`],
  ])('refuses %s with error 400, once', async (_what, packets) => {
    await expectOneRefusal(service.port, packets, 400, CLOSE);
  });

  describe('a chunked body', () => {
    const body = plant(1);

    it.each([
      ['a size that is not hexadecimal', `19x\r\n${body}\r\n0\r\n\r\n`],
      ['a bare LF after the size', `19\n${body}\r\n0\r\n\r\n`],
      ['a trailer without a colon', `19\r\n${body}\r\n0\r\nX-More\r\n\r\n`],
      ['a Content-Length among the trailers', `19\r\n${body}\r\n0\r\nContent-Length: 25\r\n\r\n`],
    ])('with %s is refused with error 400, once', async (_what, chunked) => {
      await expectOneRefusal(service.port, chunkedMessage(chunked), 400, CLOSE);
    });

    it('is refused with error 400, once, in a second packet', async () => {
      await expectOneRefusal(service.port, [chunkedMessage(''), 'x'], 400, CLOSE);
    });

    it('is refused with error 401, once, without a token', async () => {
      await expectOneRefusal(service.port, chunkedMessage('x', { authorization: [] }), 401, CLOSE);
    });
  });

  describe('a request that ends early with a FIN', () => {
    it.each<[string, number, string]>([
      ['in the method', 400, 'PO'],
      ['before its body', 400, message({ framing: ['Content-Length: 25'], body: '' })],
      ['in its body', 400, message({ framing: ['Content-Length: 26'] })],
      ['in a chunk', 400, chunkedMessage('19\r\n{')],
      ['in a chunk, without a token', 401, chunkedMessage('19\r\n{', { authorization: [] })],
    ])('%s is refused with error %d, once', async (_where, error, bytes) => {
      const client = await RawClient.connect(service.port);
      await client.hand(bytes);
      client.finish();

      expectRefusal(await client.answer(), error, CLOSE);
      await client.hangUp();
    });

    it('is refused with error 400 when the FIN comes later', async () => {
      const client = await RawClient.connect(service.port);
      await client.send(message({ framing: ['Content-Length: 26'] }));
      client.finish();

      expectRefusal(await client.answer(), 400, CLOSE);
      await client.hangUp();
    });
  });

  it('answers HEAD without a body', async () => {
    const bytes = message({ line: 'HEAD /plants HTTP/1.1', host: [], framing: [], body: '' });
    await expectOneRefusal(service.port, bytes, 400, CLOSE, 'HEAD');
  });

  it('sends nothing to a client that closes its connection without a request', async () => {
    const client = await RawClient.connect(service.port);
    await client.hangUp();
  });
});

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
    // As ab (ApacheBench) writes it.
    ['HTTP/1.0 with Keep-Alive', { line: 'POST /plants HTTP/1.0', more: ['Connection: Keep-Alive'] }],
    ['the path in its escaped form', { line: 'POST /%70l%61nts HTTP/1.1' }],
    ['a query that is not UTF-8', { line: 'POST /plants?%ff HTTP/1.1' }],
    ['a query', { line: 'POST /plants?a=%C3%A4&b=/?:@ HTTP/1.1' }],
    ['an absolute form with a port and a query', { line: 'POST HTTPS://other.example:443/plants?a HTTP/1.1' }],
    ['an absolute form with an IPv6 address', { line: 'POST http://[::1]:80/%70lants HTTP/1.1' }],
    ['the media type Application/JSON', { type: ['Content-Type: Application/JSON'] }],
    ['a Content-Encoding of identity', { more: ['Content-Encoding: Identity'] }],
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
