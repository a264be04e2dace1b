import {
  AUTHORIZATION,
  chunkedMessage,
  chunks,
  CLOSE,
  expectPlant,
  expectOneRefusal,
  expectRefusal,
  KEEP_ALIVE,
  message,
  type Parts,
  plant,
} from '../support/http-messages.js';
import { type Bytes, converse, everyConnectionIsClosed, RawClient } from '../support/raw-client.js';
import { type Service, startService } from '../support/service.js';

afterAll(everyConnectionIsClosed);

describe('The server', () => {
  let service: Service;

  beforeAll(async () => {
    service = await startService();
  });

  /** Expects that the service still works, and that the case has stored nothing. */
  afterEach(async () => {
    const { answers } = await converse(service.port, message({ body: plant(999) }));
    expectPlant(answers[0], 999, KEEP_ALIVE);
    expect(await service.rows()).toEqual([{ id: 999n, name: 'Plant 999', tag: null }]);
  });

  afterAll(() => service.close());

  const notHttp: Record<string, Record<string, Parts>> = {
    'a request line': {
      'of one word': { line: 'POST' },
      'without a target': { line: 'POST HTTP/1.1' },
      'without a version (HTTP/0.9)': { line: 'POST /plants' },
      'with version 1.2': { line: 'POST /plants HTTP/1.2' },
      'with version 2.0': { line: 'POST /plants HTTP/2.0' },
      'with a version of another protocol': { line: 'POST /plants HTTPS/1.1' },
      'of RTSP': { line: 'DESCRIBE /plants RTSP/1.0' },
      'of RTSP with the version of HTTP': { line: 'DESCRIBE /plants HTTP/1.1' },
      'with a method in lower case': { line: 'post /plants HTTP/1.1' },
      'with an unknown method': { line: 'PLANT /plants HTTP/1.1' },
      'with a space in the target': { line: 'POST /pla nts HTTP/1.1' },
      'with a bare LF at its end': { line: 'POST /plants HTTP/1.1\nX-More: 1' },
      'with a bare CR in it': { line: 'POST /plants\rHTTP/1.1' },
    },
    'a header line': {
      'without a colon': { more: ['X-More'] },
      'with a space before the colon': { more: ['X-More : 1'] },
      'with a control character in the name': { more: ['X\x01More: 1'] },
      'with a non-ASCII character in the name': { more: ['X-M\xf6re: 1'] },
      'with a NUL in the value': { more: ['X-More: 1\x002'] },
      'with a DEL in the value': { more: ['X-More: 1\x7f2'] },
      'with a bare LF in the value': { more: ['X-More: 1\nX-Another: 2'] },
      'with a bare CR in the value': { more: ['X-More: 1\rX-Another: 2'] },
      'that continues in the next line (obs-fold)': { more: ['X-More: 1,', '  2'] },
      'that begins with a space': { host: [' Host: plants.example', 'Host: plants.example'] },
      'with a bare LF instead of the empty line': { more: ['X-More: 1\r\n\nX-Another: 2'] },
    },
    'a Content-Length': {
      'that is empty': { framing: ['Content-Length:'] },
      'that is negative': { framing: ['Content-Length: -1'] },
      'in words': { framing: ['Content-Length: some'] },
      'that is hexadecimal': { framing: ['Content-Length: 0x1a'] },
      'that is a list': { framing: ['Content-Length: 25, 25'] },
      'beside a different one': { framing: ['Content-Length: 25', 'Content-Length: 26'] },
      'beside an equal one': { framing: ['Content-Length: 25', 'Content-Length: 25'] },
      'beyond 2^64': { framing: ['Content-Length: 18446744073709551616'] },
      'before Transfer-Encoding': {
        framing: ['Content-Length: 36', 'Transfer-Encoding: chunked'],
        body: chunks(plant(1)),
      },
      'after Transfer-Encoding': {
        framing: ['Transfer-Encoding: chunked', 'Content-Length: 36'],
        body: chunks(plant(1)),
      },
      'of 0 beside Transfer-Encoding': {
        framing: ['Content-Length: 0', 'Transfer-Encoding: chunked'],
        body: chunks(plant(1)),
      },
    },
    'a Transfer-Encoding': {
      'that is empty': { framing: ['Transfer-Encoding:'] },
      'that is empty after a length': { framing: ['Content-Length: 25', 'Transfer-Encoding:'] },
      'of gzip': { framing: ['Transfer-Encoding: gzip'] },
      'of identity': { framing: ['Transfer-Encoding: identity'] },
      'of gzip, chunked': { framing: ['Transfer-Encoding: gzip, chunked'], body: chunks(plant(1)) },
      'of chunked, gzip': { framing: ['Transfer-Encoding: chunked, gzip'], body: chunks(plant(1)) },
      'of chunked twice': { framing: ['Transfer-Encoding: chunked, chunked'], body: chunks(plant(1)) },
      'given twice': { framing: ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'], body: chunks(plant(1)) },
      'of gzip in another line': {
        framing: ['Transfer-Encoding: gzip', 'Transfer-Encoding: chunked'],
        body: chunks(plant(1)),
      },
      'with a parameter': { framing: ['Transfer-Encoding: chunked;q=1'], body: chunks(plant(1)) },
      'in HTTP/1.0': {
        line: 'POST /plants HTTP/1.0',
        framing: ['Transfer-Encoding: chunked'],
        body: chunks(plant(1)),
      },
    },
    'a Host': {
      'that is missing in HTTP/1.1': { host: [] },
      'that is given twice': { host: ['Host: plants.example', 'Host: other.example'] },
      'that is given twice, the first one empty': { host: ['Host:', 'Host: plants.example'] },
      'that is given twice in HTTP/1.0': {
        line: 'POST /plants HTTP/1.0',
        host: ['Host: plants.example', 'Host: plants.example'],
      },
      'that is given again at the end': { more: ['hOsT: plants.example'] },
      'that is a list': { host: ['Host: plants.example, other.example'] },
      'with user information': { host: ['Host: user@plants.example'] },
      'with a path': { host: ['Host: plants.example/plants'] },
      'with a fragment': { host: ['Host: plants.example#'] },
      'with a space': { host: ['Host: plants example'] },
      'with an invalid escape': { host: ['Host: plants%zz.example'] },
      'with a non-ASCII character': { host: ['Host: pl\xe4nts.example'] },
      'with a port in words': { host: ['Host: plants.example:http'] },
      'with two ports': { host: ['Host: plants.example:80:80'] },
      'that is an IPv6 address without brackets': { host: ['Host: ::1'] },
      'that is an invalid IPv6 address': { host: ['Host: [::1::2]'] },
      'that is an IPv6 address of too many groups': { host: ['Host: [1:2:3:4:5:6:7:8:9]'] },
      'that is an IPv4 address in brackets': { host: ['Host: [127.0.0.1]'] },
      'that is a name in brackets': { host: ['Host: [plants]'] },
      'that is an IPv6 address with a suffix': { host: ['Host: [::1]x'] },
      'that is an IPv6 address with a zone': { host: ['Host: [fe80::1%25eth0]'] },
      'that is invalid in HTTP/1.0': { line: 'POST /plants HTTP/1.0', host: ['Host: user@plants.example'] },
    },
    'a request target': {
      'with an escape without digits': { line: 'POST /%zz HTTP/1.1' },
      'with an invalid escape in the query': { line: 'POST /plants?a=%zz HTTP/1.1' },
      'with a NUL': { line: 'POST /plants\0 HTTP/1.1' },
      'with a control character': { line: 'POST /plants\x01 HTTP/1.1' },
      'with bytes of UTF-8': { line: 'POST /plants/\xc3\xa4 HTTP/1.1' },
      'with bytes of Latin-1 in the query': { line: 'POST /plants?\xe4 HTTP/1.1' },
      'with a fragment': { line: 'POST /plants#first HTTP/1.1' },
      'with a backslash': { line: 'POST \\plants HTTP/1.1' },
      'with square brackets': { line: 'POST /plants?a[]=1 HTTP/1.1' },
      'without a slash at its start': { line: 'POST plants HTTP/1.1' },
      'that is an asterisk, of a method other than OPTIONS': { line: 'GET * HTTP/1.1' },
      'that is an asterisk with a suffix': { line: 'OPTIONS *plants HTTP/1.1' },
      'that is an authority, of a method other than CONNECT': { line: 'POST plants.example:80 HTTP/1.1' },
      'in absolute form without a host': { line: 'POST http:///plants HTTP/1.1' },
      'in absolute form with a port and no host': { line: 'POST http://:80/plants HTTP/1.1' },
      'in absolute form with user information': { line: 'POST http://user@plants.example/plants HTTP/1.1' },
      'in absolute form with an invalid port': { line: 'POST http://plants.example:http/plants HTTP/1.1' },
      'in absolute form with an invalid escape': { line: 'POST http://plants.example/%zz HTTP/1.1' },
      'in absolute form without a path and with an invalid query': { line: 'POST http://plants.example?%zz HTTP/1.1' },
      'in absolute form with a fragment': { line: 'POST http://plants.example#plants HTTP/1.1' },
      'in absolute form without Host': { line: 'POST http://plants.example/plants HTTP/1.1', host: [] },
      'that is a path, of CONNECT': { line: 'CONNECT /plants HTTP/1.1' },
      'that is a host without a port, of CONNECT': { line: 'CONNECT plants.example HTTP/1.1' },
      'that is a port without a host, of CONNECT': { line: 'CONNECT :80 HTTP/1.1' },
      'in absolute form, of CONNECT': { line: 'CONNECT http://plants.example:80/ HTTP/1.1' },
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

  it.each<[string, Bytes]>([
    ['garbage', 'The quick brown fox\r\n\r\n'],
    ['binary garbage', Uint8Array.from({ length: 4_096 }, (_, index) => (index * 167 + 131) % 256)],
    ['NUL bytes', new Uint8Array(100)],
    ['a TLS ClientHello', Buffer.from('16030100c8010000c40303' + '5a'.repeat(32) + '20' + 'a5'.repeat(160), 'hex')],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['the preface of HTTP/2 and a SETTINGS frame', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0'],
    ['a response', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'],
    ['a SOCKS5 greeting', Uint8Array.of(5, 1, 0)],
    ['an SSH identification', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['a PROXY line', `PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n${message()}`],
  ])('refuses %s with error 400, once', async (_what, bytes) => {
    await expectOneRefusal(service.port, bytes, 400, CLOSE);
  });

  it('refuses the preface of HTTP/2 in two packets with error 400, once', async () => {
    await expectOneRefusal(service.port, ['PRI * HTTP/2.0\r\n', '\r\nSM\r\n\r\n'], 400, CLOSE);
  });

  describe('a chunked body', () => {
    const body = plant(1);
    const size = body.length.toString(16);

    const invalid: Record<string, string> = {
      'with a size that is not hexadecimal': `${size}x\r\n${body}\r\n0\r\n\r\n`,
      'with a negative size': `-${size}\r\n${body}\r\n0\r\n\r\n`,
      'with a size before a space': `${size} \r\n${body}\r\n0\r\n\r\n`,
      'with a size beyond 2^64': `1${'0'.repeat(16)}\r\n${body}\r\n0\r\n\r\n`,
      'with a size that is too small': `${(body.length - 1).toString(16)}\r\n${body}\r\n0\r\n\r\n`,
      'with a bare LF after the size': `${size}\n${body}\r\n0\r\n\r\n`,
      'with a bare LF after the chunk': `${size}\r\n${body}\n0\r\n\r\n`,
      'with a bare LF in the chunk extension': `${size};a\n${body}\r\n0\r\n\r\n`,
      'with a NUL in the chunk extension': `${size};a\0\r\n${body}\r\n0\r\n\r\n`,
      'with a bare LF after the last chunk': `${size}\r\n${body}\r\n0\n\r\n`,
      'with a bare LF at the end': `${size}\r\n${body}\r\n0\r\n\n\r\n`,
      'with a trailer without a colon': `${size}\r\n${body}\r\n0\r\nX-More\r\n\r\n`,
      'with a trailer with a space before the colon': `${size}\r\n${body}\r\n0\r\nX-More : 1\r\n\r\n`,
      'with a trailer that continues in the next line': `${size}\r\n${body}\r\n0\r\nX-More: 1\r\n 2\r\n\r\n`,
      'with a Content-Length among the trailers': `${size}\r\n${body}\r\n0\r\nContent-Length: 25\r\n\r\n`,
      'with a control character in a trailer': `${size}\r\n${body}\r\n0\r\nX-More: \x01\r\n\r\n`,
      'with a bare LF after a trailer': `${size}\r\n${body}\r\n0\r\nX-More: 1\n\r\n`,
    };

    it.each(Object.entries(invalid))('%s is refused with error 400, once', async (_case, chunked) => {
      await expectOneRefusal(service.port, chunkedMessage(chunked), 400, CLOSE);
    });

    const [sample = ''] = Object.values(invalid);

    it('is refused with error 400, once, in a second packet', async () => {
      await expectOneRefusal(service.port, [chunkedMessage(''), sample], 400, CLOSE);
    });

    it('is refused with error 401, once, without a token', async () => {
      await expectOneRefusal(service.port, chunkedMessage(sample, { authorization: [] }), 401, CLOSE);
    });
  });

  describe('a request that ends early with a FIN', () => {
    it.each<[string, number, string]>([
      ['in the method', 400, 'PO'],
      ['in the target', 400, 'POST /pla'],
      ['after the request line', 400, 'POST /plants HTTP/1.1\r\n'],
      ['in a header', 400, `POST /plants HTTP/1.1\r\nHost: plants.example\r\n${AUTHORIZATION}`],
      ['before the empty line', 400, `POST /plants HTTP/1.1\r\nHost: plants.example\r\n${AUTHORIZATION}\r\n`],
      ['before its body', 400, message({ framing: ['Content-Length: 25'], body: '' })],
      ['in its body', 400, message({ framing: ['Content-Length: 26'] })],
      ['before its chunks', 400, chunkedMessage('')],
      ['in a chunk size', 400, chunkedMessage('1')],
      ['in a chunk', 400, chunkedMessage('19\r\n{')],
      ['before the last chunk', 400, chunkedMessage(`19\r\n${plant(1)}\r\n`)],
      ['in the last chunk', 400, chunkedMessage(`19\r\n${plant(1)}\r\n0\r\n`)],
      ['in a trailer', 400, chunkedMessage(`19\r\n${plant(1)}\r\n0\r\nX-More: `)],
      [
        'before its body, without a token',
        401,
        message({ framing: ['Content-Length: 25'], body: '', authorization: [] }),
      ],
      ['in its body, without a token', 401, message({ framing: ['Content-Length: 26'], authorization: [] })],
      ['in a chunk, without a token', 401, chunkedMessage('19\r\n{', { authorization: [] })],
    ])('%s is refused with error %d, once', async (_where, error, bytes) => {
      const client = await RawClient.connect(service.port);
      await client.hand(bytes);
      client.finish();

      expectRefusal(await client.answer(), error, CLOSE);
      expect(await client.hangUp()).toBe('FIN');
    });

    it('is refused with error 400 when the FIN comes later', async () => {
      const client = await RawClient.connect(service.port);
      await client.send(message({ framing: ['Content-Length: 26'] }));
      client.finish();

      expectRefusal(await client.answer(), 400, CLOSE);
      expect(await client.hangUp()).toBe('FIN');
    });
  });

  it('answers HEAD without a body', async () => {
    const bytes = message({ line: 'HEAD /plants HTTP/1.1', host: [], framing: [], body: '' });
    const { answers, ending } = await converse(service.port, bytes, { method: 'HEAD' });

    expectRefusal(answers[0], 400, CLOSE, 'HEAD');
    expect(ending).toBe('FIN');
  });

  it('sends nothing to a client that closes its connection without a request', async () => {
    const client = await RawClient.connect(service.port);

    expect(await client.hangUp()).toBe('FIN');
  });
});
