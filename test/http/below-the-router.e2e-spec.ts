import { once } from 'node:events';
import { METHODS } from 'node:http';
import { connect } from 'node:net';
import type { Principal } from '../../src/auth/principal.js';
import { TokenVerifier } from '../../src/auth/token-verifier.js';
import { collectGarbage } from '../support/garbage.js';
import { type Answer, type Bytes, converse, everyConnectionIsClosed, RawClient } from '../support/raw-client.js';
import { type Service, startService, TOKEN } from '../support/service.js';

const AUTHORIZATION = `Authorization: Bearer ${TOKEN}`;

/** The parts of a request, as lines without their ends. */
interface Parts {
  readonly line?: string;
  readonly host?: readonly string[];
  readonly authorization?: readonly string[];
  readonly type?: readonly string[];
  readonly framing?: readonly string[];
  readonly more?: readonly string[];
  readonly body?: string;
}

/** A request that creates a plant, but for the parts that a case changes: each refusal has one reason. */
function message(parts: Parts = {}): string {
  const body = parts.body ?? plant(1);
  return [
    parts.line ?? 'POST /plants HTTP/1.1',
    ...(parts.host ?? ['Host: plants.example']),
    ...(parts.authorization ?? [AUTHORIZATION]),
    ...(parts.type ?? ['Content-Type: application/json']),
    ...(parts.framing ?? [`Content-Length: ${body.length}`]),
    ...(parts.more ?? []),
    '',
    body,
  ].join('\r\n');
}

/** The same in chunks. */
function chunkedMessage(body: string, parts: Parts = {}): string {
  return message({ framing: ['Transfer-Encoding: chunked'], ...parts, body });
}

function plant(id: number): string {
  return `{"id":${id},"name":"Plant ${id}"}`;
}

function chunks(...bodies: string[]): string {
  return [...bodies, ''].map((body) => `${body.length.toString(16)}\r\n${body}\r\n`).join('');
}

function together(...packets: readonly Bytes[]): Bytes {
  return Buffer.concat(packets.map((packet) => (typeof packet === 'string' ? Buffer.from(packet, 'latin1') : packet)));
}

/** What an answer has to say; Date, Content-Length and the id of the request are taken for granted. */
function expectAnswer(
  answer: Answer | undefined,
  status: string,
  headers: Record<string, unknown>,
  body: unknown,
): void {
  expect(answer?.statusLine).toBe(`HTTP/1.1 ${status}`);
  const {
    date,
    'content-length': length,
    'keep-alive': keepAlive,
    'x-request-id': requestId,
    connection,
    ...others
  } = answer?.headers ?? {};
  expect(date).toMatch(/GMT$/);
  expect(length).toMatch(/^\d+$/);
  expect(requestId).toMatch(/^[\da-f-]{36}$/);
  expect({ connection, ...others }).toEqual({
    connection: keepAlive === undefined ? 'close' : 'keep-alive',
    'content-type': 'application/json',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    ...headers,
  });
  if (body === undefined) expect(answer?.body).toBe('');
  else expect(JSON.parse(answer?.body ?? '')).toEqual(body);
}

/** Created, and what the plant is called. */
function expectPlant(answer: Answer | undefined, id: number, headers: Record<string, string> = {}): void {
  expectAnswer(answer, '200 OK', headers, { name: `Plant ${id}` });
}

/** Refused in the contract's words, and with the headers that the table of errors has for this number. */
function expectRefusal(
  answer: Answer | undefined,
  error: number,
  headers: Record<string, string> = {},
  method = 'POST',
): void {
  const challenge: unknown = expect.stringMatching(/^Bearer realm="[^"]+"(, error="invalid_token")?$/);
  const headersOf: Record<number, Record<string, unknown>> = {
    401: { 'www-authenticate': challenge },
    405: { allow: 'POST' },
  };
  const body = { error, message: expect.stringMatching(/^\S.*\.$/) as unknown };
  expectAnswer(answer, '400 Bad Request', { ...headersOf[error], ...headers }, method === 'HEAD' ? undefined : body);
}

/** Takes the token of the tests at once, and another one when the test says so. */
class SlowVerifier extends TokenVerifier {
  static readonly TOKEN = 'a-token-that-takes-its-time';

  #open: () => void = () => undefined;
  #opened = Promise.resolve();

  /** Makes the requests with the other token wait from now on. */
  shut(): void {
    this.#opened = new Promise((resolve) => (this.#open = resolve));
  }

  /** Lets them go on. */
  open(): void {
    this.#open();
  }

  override async verify(token: string): Promise<Principal | undefined> {
    if (token === SlowVerifier.TOKEN) await this.#opened;
    else if (token !== TOKEN) return undefined;
    return { name: 'tests' };
  }
}

const SLOW = { authorization: [`Authorization: Bearer ${SlowVerifier.TOKEN}`] };

const CLOSE = { connection: 'close' };
const KEEP_ALIVE = { connection: 'keep-alive' };

afterAll(everyConnectionIsClosed);

describe('below the router', () => {
  let service: Service;

  beforeAll(async () => {
    service = await startService();
  });

  /** Whatever a case has done to the service, it still serves; and then there is this plant alone. */
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
      'with an empty target': { line: 'POST  HTTP/1.1' },
      'without a version (HTTP/0.9)': { line: 'POST /plants' },
      'with version 0.9': { line: 'POST /plants HTTP/0.9' },
      'with version 1.2': { line: 'POST /plants HTTP/1.2' },
      'with version 2.0': { line: 'POST /plants HTTP/2.0' },
      'with version 3.0': { line: 'POST /plants HTTP/3.0' },
      'with a version of one digit': { line: 'POST /plants HTTP/1' },
      'with a version of many digits': { line: 'POST /plants HTTP/1.11' },
      'with a version in lower case': { line: 'POST /plants http/1.1' },
      'with a version of another protocol': { line: 'POST /plants HTTPS/1.1' },
      'of RTSP': { line: 'DESCRIBE /plants RTSP/1.0' },
      'of RTSP in the name of HTTP': { line: 'DESCRIBE /plants HTTP/1.1' },
      'with a method in lower case': { line: 'post /plants HTTP/1.1' },
      'with a method that nobody knows': { line: 'PLANT /plants HTTP/1.1' },
      'with a method that goes on': { line: 'POSTS /plants HTTP/1.1' },
      'with a method of no token characters': { line: 'P{ST /plants HTTP/1.1' },
      'that begins with a space': { line: ' POST /plants HTTP/1.1' },
      'with a space at its end': { line: 'POST /plants HTTP/1.1 ' },
      'with a space in the target': { line: 'POST /pla nts HTTP/1.1' },
      'with tabs': { line: 'POST\t/plants\tHTTP/1.1' },
      'with a bare LF at its end': { line: 'POST /plants HTTP/1.1\nX-More: 1' },
      'with a bare CR at its end': { line: 'POST /plants HTTP/1.1\rX-More: 1' },
      'with a bare CR in it': { line: 'POST /plants\rHTTP/1.1' },
    },
    'a header line': {
      'without a colon': { more: ['X-More'] },
      'without a name': { more: [': more'] },
      'with a space before the colon': { more: ['X-More : 1'] },
      'with a tab before the colon': { more: ['X-More\t: 1'] },
      'with a space in the name': { more: ['X More: 1'] },
      'with brackets in the name': { more: ['X(More): 1'] },
      'with a control character in the name': { more: ['X\x01More: 1'] },
      'with a NUL in the name': { more: ['X\0More: 1'] },
      'with a non-ASCII character in the name': { more: ['X-M\xf6re: 1'] },
      'with a NUL in the value': { more: ['X-More: 1\x002'] },
      'with a control character in the value': { more: ['X-More: 1\x012'] },
      'with an escape character in the value': { more: ['X-More: \x1b[2J'] },
      'with a DEL in the value': { more: ['X-More: 1\x7f2'] },
      'with a bare LF in the value': { more: ['X-More: 1\nX-Another: 2'] },
      'with a bare CR in the value': { more: ['X-More: 1\rX-Another: 2'] },
      'with a bare CR at its end': { more: ['X-More: 1\r\rX-Another: 2'] },
      'that goes on in the next line (obs-fold)': { more: ['X-More: 1,', '  2'] },
      'that goes on in the next line with a tab': { more: ['X-More: 1,', '\t2'] },
      'that begins with a space': { host: [' Host: plants.example', 'Host: plants.example'] },
      'with a bare LF for the empty line after it': { more: ['X-More: 1\r\n\nX-Another: 2'] },
      'with a bare CR for the empty line after it': { more: ['X-More: 1\r\n\rX-Another: 2'] },
    },
    'a Content-Length': {
      'that is empty': { framing: ['Content-Length:'] },
      'that is negative': { framing: ['Content-Length: -1'] },
      'with a plus sign': { framing: ['Content-Length: +25'] },
      'in words': { framing: ['Content-Length: some'] },
      'that is hexadecimal': { framing: ['Content-Length: 0x1a'] },
      'that is no integer': { framing: ['Content-Length: 25.0'] },
      'with a space in it': { framing: ['Content-Length: 2 6'] },
      'that is a list': { framing: ['Content-Length: 25, 25'] },
      'beside a different one': { framing: ['Content-Length: 25', 'Content-Length: 26'] },
      'beside an equal one': { framing: ['Content-Length: 25', 'Content-Length: 25'] },
      'beside an empty one': { framing: ['Content-Length: 25', 'Content-Length:'] },
      'beyond 2^64': { framing: ['Content-Length: 18446744073709551616'] },
      'of too many digits': { framing: [`Content-Length: ${'9'.repeat(100)}`] },
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
      'that is empty beside a length': { framing: ['Transfer-Encoding:', 'Content-Length: 25'] },
      'that is empty after a length': { framing: ['Content-Length: 25', 'Transfer-Encoding:'] },
      'of gzip': { framing: ['Transfer-Encoding: gzip'] },
      'of identity': { framing: ['Transfer-Encoding: identity'] },
      'of identity beside a length': { framing: ['Transfer-Encoding: identity', 'Content-Length: 25'] },
      'of gzip, chunked': { framing: ['Transfer-Encoding: gzip, chunked'], body: chunks(plant(1)) },
      'of chunked, gzip': { framing: ['Transfer-Encoding: chunked, gzip'], body: chunks(plant(1)) },
      'of chunked twice': { framing: ['Transfer-Encoding: chunked, chunked'], body: chunks(plant(1)) },
      'given twice': { framing: ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'], body: chunks(plant(1)) },
      'of gzip in a line of its own': {
        framing: ['Transfer-Encoding: gzip', 'Transfer-Encoding: chunked'],
        body: chunks(plant(1)),
      },
      'with a parameter': { framing: ['Transfer-Encoding: chunked;q=1'], body: chunks(plant(1)) },
      'in quotes': { framing: ['Transfer-Encoding: "chunked"'], body: chunks(plant(1)) },
      'that is chunked but for a letter': { framing: ['Transfer-Encoding: xchunked'], body: chunks(plant(1)) },
      'in HTTP/1.0': {
        line: 'POST /plants HTTP/1.0',
        framing: ['Transfer-Encoding: chunked'],
        body: chunks(plant(1)),
      },
    },
    'a Host': {
      'that is missing in HTTP/1.1': { host: [] },
      'that is given twice': { host: ['Host: plants.example', 'Host: other.example'] },
      'that is given twice alike': { host: ['Host: plants.example', 'Host: plants.example'] },
      'that is given twice, empty': { host: ['Host:', 'Host:'] },
      'that is given twice, the first one empty': { host: ['Host:', 'Host: plants.example'] },
      'that is given twice, the second one empty': { host: ['Host: plants.example', 'Host:'] },
      'that is given twice in HTTP/1.0': {
        line: 'POST /plants HTTP/1.0',
        host: ['Host: plants.example', 'Host: plants.example'],
      },
      'that is given again at the end': { more: ['hOsT: plants.example'] },
      'that is a list': { host: ['Host: plants.example, other.example'] },
      'with user information': { host: ['Host: user@plants.example'] },
      'with a user and a password': { host: ['Host: user:secret@plants.example'] },
      'with a path': { host: ['Host: plants.example/plants'] },
      'with a scheme': { host: ['Host: http://plants.example'] },
      'with a query': { host: ['Host: plants.example?'] },
      'with a fragment': { host: ['Host: plants.example#'] },
      'with a space': { host: ['Host: plants example'] },
      'with a bad escape': { host: ['Host: plants%zz.example'] },
      'with half an escape': { host: ['Host: plants.example%2'] },
      'with a non-ASCII character': { host: ['Host: pl\xe4nts.example'] },
      'with a port in words': { host: ['Host: plants.example:http'] },
      'with a negative port': { host: ['Host: plants.example:-1'] },
      'with two ports': { host: ['Host: plants.example:80:80'] },
      'that is an IPv6 address without brackets': { host: ['Host: ::1'] },
      'that is an IPv6 address without its end': { host: ['Host: [::1'] },
      'that is no IPv6 address': { host: ['Host: [::1::2]'] },
      'that is an IPv6 address of too many groups': { host: ['Host: [1:2:3:4:5:6:7:8:9]'] },
      'that is an IPv4 address in brackets': { host: ['Host: [127.0.0.1]'] },
      'that is a name in brackets': { host: ['Host: [plants]'] },
      'that is an IPv6 address with more behind it': { host: ['Host: [::1]x'] },
      'that is an IPv6 address with a zone': { host: ['Host: [fe80::1%25eth0]'] },
      'that is bad in HTTP/1.0': { line: 'POST /plants HTTP/1.0', host: ['Host: user@plants.example'] },
    },
    'a request target': {
      'with an escape of no digits': { line: 'POST /%zz HTTP/1.1' },
      'with half an escape': { line: 'POST /plants%2 HTTP/1.1' },
      'with a bare percent sign': { line: 'POST /plants% HTTP/1.1' },
      'with a bad escape in the query': { line: 'POST /plants?a=%zz HTTP/1.1' },
      'with a NUL': { line: 'POST /plants\0 HTTP/1.1' },
      'with a control character': { line: 'POST /plants\x01 HTTP/1.1' },
      'with a DEL': { line: 'POST /plants\x7f HTTP/1.1' },
      'with a tab': { line: 'POST /plants\t HTTP/1.1' },
      'with bytes of UTF-8': { line: 'POST /plants/\xc3\xa4 HTTP/1.1' },
      'with bytes of Latin-1 in the query': { line: 'POST /plants?\xe4 HTTP/1.1' },
      'with a fragment': { line: 'POST /plants#first HTTP/1.1' },
      'with a quotation mark': { line: 'POST /plants" HTTP/1.1' },
      'with angle brackets': { line: 'POST /<plants> HTTP/1.1' },
      'with a backslash': { line: 'POST \\plants HTTP/1.1' },
      'with braces': { line: 'POST /{plants} HTTP/1.1' },
      'with square brackets': { line: 'POST /plants?a[]=1 HTTP/1.1' },
      'without a slash at its start': { line: 'POST plants HTTP/1.1' },
      'that is a query alone': { line: 'POST ?plants HTTP/1.1' },
      'that is an asterisk, of a method other than OPTIONS': { line: 'GET * HTTP/1.1' },
      'that is an asterisk with more behind it': { line: 'OPTIONS *plants HTTP/1.1' },
      'that is an authority, of a method other than CONNECT': { line: 'POST plants.example:80 HTTP/1.1' },
      'in absolute form without a host': { line: 'POST http:///plants HTTP/1.1' },
      'in absolute form with a port and no host': { line: 'POST http://:80/plants HTTP/1.1' },
      'in absolute form with user information': { line: 'POST http://user@plants.example/plants HTTP/1.1' },
      'in absolute form with a bad port': { line: 'POST http://plants.example:http/plants HTTP/1.1' },
      'in absolute form with a bad escape': { line: 'POST http://plants.example/%zz HTTP/1.1' },
      'in absolute form without Host': { line: 'POST http://plants.example/plants HTTP/1.1', host: [] },
      'that is a path, of CONNECT': { line: 'CONNECT /plants HTTP/1.1' },
      'that is an asterisk, of CONNECT': { line: 'CONNECT * HTTP/1.1' },
      'that is a host without a port, of CONNECT': { line: 'CONNECT plants.example HTTP/1.1' },
      'that is a host with an empty port, of CONNECT': { line: 'CONNECT plants.example: HTTP/1.1' },
      'that is a port without a host, of CONNECT': { line: 'CONNECT :80 HTTP/1.1' },
      'in absolute form, of CONNECT': { line: 'CONNECT http://plants.example:80/ HTTP/1.1' },
    },
  };

  describe.each(Object.entries(notHttp))('%s', (_what, cases) => {
    describe.each(Object.entries(cases))('%s', (_case, parts) => {
      it.each([
        ['with a valid token', [AUTHORIZATION]],
        ['without a token', []],
      ])('is refused with error 400, once, %s', async (_token, authorization) => {
        const { answers, ending } = await converse(service.port, message({ authorization, ...parts }));

        expectRefusal(answers[0], 400, CLOSE);
        expect(answers).toHaveLength(1);
        expect(ending).toBe('FIN');
      });
    });
  });

  it.each<[string, Bytes]>([
    ['garbage', 'The quick brown fox\r\n\r\n'],
    ['binary garbage', Uint8Array.from({ length: 4_096 }, (_, index) => (index * 167 + 131) % 256)],
    ['NULs', new Uint8Array(100)],
    ['a TLS ClientHello', Buffer.from('16030100c8010000c40303' + '5a'.repeat(32) + '20' + 'a5'.repeat(160), 'hex')],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['the preface of HTTP/2 and a SETTINGS frame', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0'],
    ['an answer', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'],
    ['a SOCKS5 greeting', Uint8Array.of(5, 1, 0)],
    ['the SSH of a lost client', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['a PROXY line', `PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n${message()}`],
  ])('refuses %s with error 400, once', async (_what, bytes) => {
    const { answers, ending } = await converse(service.port, bytes);

    expectRefusal(answers[0], 400, CLOSE);
    expect(answers).toHaveLength(1);
    expect(ending).toBe('FIN');
  });

  it('refuses the preface of HTTP/2 in two packets with error 400, once', async () => {
    const { answers, ending } = await converse(service.port, ['PRI * HTTP/2.0\r\n', '\r\nSM\r\n\r\n']);

    expectRefusal(answers[0], 400, CLOSE);
    expect(answers).toHaveLength(1);
    expect(ending).toBe('FIN');
  });

  describe('a chunked body', () => {
    const body = plant(1);
    const size = body.length.toString(16);

    const bad: Record<string, string> = {
      'with a size that is not hexadecimal': `${size}x\r\n${body}\r\n0\r\n\r\n`,
      'with a size of no digit': `\r\n${body}\r\n0\r\n\r\n`,
      'with a negative size': `-${size}\r\n${body}\r\n0\r\n\r\n`,
      'with a size after a space': ` ${size}\r\n${body}\r\n0\r\n\r\n`,
      'with a size before a space': `${size} \r\n${body}\r\n0\r\n\r\n`,
      'with a size of 0x': `0x${size}\r\n${body}\r\n0\r\n\r\n`,
      'with a size beyond 2^64': `1${'0'.repeat(16)}\r\n${body}\r\n0\r\n\r\n`,
      'with a size that is too small': `${(body.length - 1).toString(16)}\r\n${body}\r\n0\r\n\r\n`,
      'with a size that is too great': `${(body.length + 1).toString(16)}\r\n${body}\r\n0\r\n\r\n`,
      'with a bare LF after the size': `${size}\n${body}\r\n0\r\n\r\n`,
      'with a bare CR after the size': `${size}\r${body}\r\n0\r\n\r\n`,
      'with a bare LF after the chunk': `${size}\r\n${body}\n0\r\n\r\n`,
      'with no line end after the chunk': `${size}\r\n${body}0\r\n\r\n`,
      'with a bare LF in the chunk extension': `${size};a\n${body}\r\n0\r\n\r\n`,
      'with a NUL in the chunk extension': `${size};a\0\r\n${body}\r\n0\r\n\r\n`,
      'with a bare LF after the last chunk': `${size}\r\n${body}\r\n0\n\r\n`,
      'with a bare LF at the end': `${size}\r\n${body}\r\n0\r\n\n\r\n`,
      'with a trailer without a colon': `${size}\r\n${body}\r\n0\r\nX-More\r\n\r\n`,
      'with a trailer with a space before the colon': `${size}\r\n${body}\r\n0\r\nX-More : 1\r\n\r\n`,
      'with a trailer that goes on in the next line': `${size}\r\n${body}\r\n0\r\nX-More: 1\r\n 2\r\n\r\n`,
      'with a Content-Length among the trailers': `${size}\r\n${body}\r\n0\r\nContent-Length: 25\r\n\r\n`,
      'with a control character in a trailer': `${size}\r\n${body}\r\n0\r\nX-More: \x01\r\n\r\n`,
      'with a bare LF after a trailer': `${size}\r\n${body}\r\n0\r\nX-More: 1\n\r\n`,
    };

    describe.each(Object.entries(bad))('%s', (_case, chunked) => {
      it('is refused with error 400, once', async () => {
        const { answers, ending } = await converse(service.port, chunkedMessage(chunked));

        expectRefusal(answers[0], 400, CLOSE);
        expect(answers).toHaveLength(1);
        expect(ending).toBe('FIN');
      });

      it('is refused with error 400, once, in a packet of its own', async () => {
        const { answers, ending } = await converse(service.port, [chunkedMessage(''), chunked]);

        expectRefusal(answers[0], 400, CLOSE);
        expect(answers).toHaveLength(1);
        expect(ending).toBe('FIN');
      });

      it('is refused with error 401, once, without a token', async () => {
        const { answers, ending } = await converse(service.port, chunkedMessage(chunked, { authorization: [] }));

        expectRefusal(answers[0], 401, CLOSE);
        expect(answers).toHaveLength(1);
        expect(ending).toBe('FIN');
      });
    });
  });

  describe('a message that is cut short by a FIN', () => {
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

    it('is refused in the same way when the FIN comes later', async () => {
      const client = await RawClient.connect(service.port);
      await client.send(message({ framing: ['Content-Length: 26'] }));
      client.finish();

      expectRefusal(await client.answer(), 400, CLOSE);
      expect(await client.hangUp()).toBe('FIN');
    });
  });

  it('has no body in the answer to HEAD', async () => {
    const bytes = message({ line: 'HEAD /plants HTTP/1.1', host: [], framing: [], body: '' });
    const { answers, ending } = await converse(service.port, bytes, { method: 'HEAD' });

    expectRefusal(answers[0], 400, CLOSE, 'HEAD');
    expect(ending).toBe('FIN');
  });

  it('says nothing to a client that says nothing and hangs up', async () => {
    const client = await RawClient.connect(service.port);

    expect(await client.hangUp()).toBe('FIN');
  });
});

describe('a message of HTTP', () => {
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
    ['a Host in whatever case and space', { host: ['hOST:\t PLANTS.example \t'] }, KEEP_ALIVE],
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
    ['obsolete text in a header', { more: ['X-More: \xe4\xff'] }, KEEP_ALIVE],
    ['an empty header', { more: ['X-More:'] }, KEEP_ALIVE],
    ['Connection: close', { more: ['Connection: close'] }, CLOSE],
    ['Connection: close among others', { more: ['Connection: x-more, CLOSE'] }, CLOSE],
    ['an offer of HTTP/2 (RFC 7540 §3.2)', { more: ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c'] }, CLOSE],
    ['an offer of WebSocket', { more: ['Connection: Upgrade', 'Upgrade: websocket'] }, CLOSE],
    ['chunks', { framing: ['Transfer-Encoding: chunked'], body: chunks('{"id":1,', '"name":"Plant 1"}') }, KEEP_ALIVE],
    ['Chunked', { framing: ['Transfer-Encoding: Chunked'], body: chunks(plant(1)) }, KEEP_ALIVE],
    [
      'chunks and an offer of HTTP/2',
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
      'trailers, which change nothing',
      {
        framing: ['Transfer-Encoding: chunked'],
        body: `19\r\n${plant(1)}\r\n0\r\nHost: a b\r\nAuthorization: none\r\nExpect: more\r\n\r\n`,
      },
      KEEP_ALIVE,
    ],
  ])('is taken with %s, and nothing follows its answer', async (_what, parts, headers) => {
    const { answers, ending } = await converse(service.port, message(parts));

    expectPlant(answers[0], 1, headers);
    expect(answers).toHaveLength(1);
    expect(ending).toBe('FIN');
  });

  it('is taken byte by byte', async () => {
    const { answers } = await converse(service.port, Array.from(message()));

    expectPlant(answers[0], 1, KEEP_ALIVE);
  });
});

describe('a request without a valid token', () => {
  let service: Service;

  beforeAll(async () => {
    service = await startService();
  });

  afterEach(async () => {
    expect(await service.rows()).toEqual([]);
  });

  afterAll(() => service.close());

  describe.each(METHODS)('%s', (method) => {
    const targets =
      method === 'CONNECT'
        ? ['plants.example:80', '[::1]:443']
        : ['/plants', '/', '/elsewhere', '/%ff', '/*', '/:plant', `/${'a'.repeat(8_000)}`, 'http://plants.example'];

    it('is refused with error 401 on whatever path', async () => {
      for (const target of targets) {
        const bytes = message({ line: `${method} ${target} HTTP/1.1`, authorization: [], framing: [], body: '' });
        const { answers, ending } = await converse(service.port, bytes, { method });

        expectRefusal(answers[0], 401, method === 'CONNECT' ? CLOSE : KEEP_ALIVE, method);
        expect(answers).toHaveLength(1);
        expect(ending).toBe('FIN');
      }
    });

    it('is refused with error 401 whatever its body is', async () => {
      for (const body of [plant(1), 'not JSON', chunks('not JSON')]) {
        const framing = body.endsWith('\r\n') ? { framing: ['Transfer-Encoding: chunked'] } : {};
        const line = `${method} ${targets[0] ?? ''} HTTP/1.1`;
        const bytes = message({ line, authorization: [], type: [], ...framing, body });
        const { answers, ending } = await converse(service.port, bytes, { method });

        expectRefusal(answers[0], 401, method === 'CONNECT' ? CLOSE : KEEP_ALIVE, method);
        expect(answers).toHaveLength(1);
        expect(ending).toBe('FIN');
      }
    });

    it('is refused with error 401 before its body comes', async () => {
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
    ['two equal ones', [AUTHORIZATION, AUTHORIZATION]],
    ['a valid one before an invalid one', [AUTHORIZATION, 'Authorization: Bearer none']],
    ['an invalid one before a valid one', ['Authorization: Bearer none', AUTHORIZATION]],
    ['a valid one before an empty one', [AUTHORIZATION, 'Authorization:']],
    ['an empty one before a valid one', ['Authorization:', AUTHORIZATION]],
    ['a valid one before one of another scheme', [AUTHORIZATION, 'Authorization: Basic dXNlcjpwYXNz']],
    ['one of another scheme before a valid one', ['Authorization: Basic dXNlcjpwYXNz', AUTHORIZATION]],
    ['names in different cases', [AUTHORIZATION, AUTHORIZATION.replace('Authorization', 'aUTHORIZATION')]],
    ['thousands of headers between them', [AUTHORIZATION, ...Array<string>(4_000).fill('A: 1'), AUTHORIZATION]],
  ])('is refused with error 401 for two Authorization headers: %s', async (_what, authorization) => {
    const { answers, ending } = await converse(service.port, message({ authorization }));

    expectRefusal(answers[0], 401);
    expect(answers).toHaveLength(1);
    expect(ending).toBe('FIN');
  });
});

describe.each([
  ['', '/plants'],
  ['/v1', '/v1/plants'],
])('a request with a valid token and base path "%s"', (basePath, path) => {
  let service: Service;

  beforeAll(async () => {
    service = await startService({ basePath });
  });

  afterEach(async () => {
    expect(await service.rows()).toEqual([]);
  });

  afterAll(() => service.close());

  /** Sends a request without a body, and expects this refusal and nothing more. */
  async function expectRefused(method: string, target: string, error: number): Promise<void> {
    const bytes = message({ line: `${method} ${target} HTTP/1.1`, framing: [], body: '' });
    const { answers, ending } = await converse(service.port, bytes, { method });

    expectRefusal(answers[0], error, KEEP_ALIVE, method);
    expect(answers).toHaveLength(1);
    expect(ending).toBe('FIN');
  }

  describe.each(METHODS.filter((method) => method !== 'CONNECT' && method !== 'POST'))('%s', (method) => {
    it.each([path, `${path}?a=b`, `http://plants.example${path}`, path.replace('p', '%70')])(
      'is refused with error 405 on %s',
      (target) => expectRefused(method, target, 405),
    );

    it('is refused with error 404 elsewhere', () => expectRefused(method, '/elsewhere', 404));
  });

  it.each([
    ['/'],
    ['//'],
    [`/${path}`],
    [`${path}/`],
    [`${path}/1`],
    [path.replace('p', 'P')],
    [basePath === '' ? '/%2Fplants' : '/v1%2Fplants'],
    [path.replace('/p', '/./p')],
    [path.replace('p', '%2570')],
    [`${path};a`],
    [`${path}%00`],
    [`${path}%3F`],
    [`${path}%ff`],
    [basePath === '' ? '/v1/plants' : '/plants'],
    ['/*'],
    ['/%2A'],
    ['/**'],
    ['/:plants'],
    ['/%3Aplants'],
    ['/::plants'],
    ['/:a('],
    ['/%ff'],
    ['/%C0%AF'],
    [`/${'a'.repeat(8_000)}`],
    ['http://plants.example'],
    ['http://plants.example?plants'],
  ])('is refused with error 404 on %s', async (target) => {
    for (const method of ['POST', 'GET', 'HEAD', 'OPTIONS']) await expectRefused(method, target, 404);
  });

  it.each(['plants.example:443', 'plants:80', '[::1]:80'])(
    'is refused with error 404 for CONNECT %s',
    async (target) => {
      const { answers, ending } = await converse(service.port, message({ line: `CONNECT ${target} HTTP/1.1` }));

      expectRefusal(answers[0], 404, CLOSE);
      expect(answers).toHaveLength(1);
      expect(ending).toBe('FIN');
    },
  );

  it('is refused with error 404 for OPTIONS *', () => expectRefused('OPTIONS', '*', 404));
});

describe('an expectation', () => {
  const EXPECTING = ['Content-Length: 25', 'Expect: 100-continue'];
  let service: Service;

  beforeAll(async () => {
    service = await startService();
  });

  afterAll(() => service.close());

  async function expectNoTrace(): Promise<void> {
    expect(await service.rows()).not.toContainEqual(expect.objectContaining({ id: 9n }));
  }

  it.each<[string, Parts]>([
    ['of 100-continue', { framing: EXPECTING }],
    ['of 100-continue in whatever case', { framing: ['Content-Length: 25', 'eXPECT: 100-Continue'] }],
  ])('%s is met before the body is sent', async (_what, parts) => {
    const client = await RawClient.connect(service.port);
    await client.send(message({ ...parts, body: '' }));

    expect(await client.answer()).toEqual({ statusLine: 'HTTP/1.1 100 Continue', headers: {}, body: '' });
    await client.send(plant(1));
    expectPlant(await client.answer(), 1, KEEP_ALIVE);
    expect(await client.hangUp()).toBe('FIN');
    expect(await service.rows()).toContainEqual({ id: 1n, name: 'Plant 1', tag: null });
  });

  it('is met before chunks are sent', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(message({ framing: ['Transfer-Encoding: chunked', 'Expect: 100-continue'], body: '' }));

    expect((await client.answer()).statusLine).toBe('HTTP/1.1 100 Continue');
    await client.send(chunks(plant(1)));
    expectPlant(await client.answer(), 1, KEEP_ALIVE);
    expect(await client.hangUp()).toBe('FIN');
  });

  it.each<[number, string, Parts]>([
    [401, 'a token', { authorization: [] }],
    [401, 'a valid token', { authorization: ['Authorization: Bearer none'] }],
    [404, 'a path', { line: 'POST /elsewhere HTTP/1.1' }],
    [405, 'the right method', { line: 'PUT /plants HTTP/1.1' }],
    [415, 'the right media type', { type: ['Content-Type: text/plain'] }],
    [413, 'a limit', { framing: ['Content-Length: 3000000', 'Expect: 100-continue'] }],
    [400, 'a valid Host', { host: ['Host: a b'] }],
  ])('of 100-continue is not met but refused with error %d without %s', async (error, _what, parts) => {
    const bytes = message({ framing: EXPECTING, ...parts, body: '' });
    const { answers, ending } = await converse(service.port, bytes);

    expectRefusal(answers[0], error, CLOSE);
    expect(answers).toHaveLength(1);
    expect(ending).toBe('FIN');
    await expectNoTrace();
  });

  it.each(['200-ok', 'a-miracle', '100-continue, a-miracle', '100-continued', 'x100-continue', '"100-continue"'])(
    'of %s is refused with error 417, without 100 Continue',
    async (expectation) => {
      const bytes = message({ more: [`Expect: ${expectation}`], body: plant(9) });
      const { answers, ending } = await converse(service.port, bytes);

      expectRefusal(answers[0], 417);
      expect(answers).toHaveLength(1);
      expect(ending).toBe('FIN');
      await expectNoTrace();
    },
  );

  it('of something else is refused before the body comes', async () => {
    const bytes = message({ framing: ['Content-Length: 25', 'Expect: a-miracle'], body: '' });
    const { answers, ending } = await converse(service.port, bytes);

    expectRefusal(answers[0], 417, CLOSE);
    expect(ending).toBe('FIN');
  });

  it.each<[number, string, Parts]>([
    [401, 'a token', { authorization: [] }],
    [404, 'a path', { line: 'POST /elsewhere HTTP/1.1' }],
    [405, 'the right method', { line: 'PUT /plants HTTP/1.1' }],
  ])('of something else is refused with error %d without %s', async (error, _what, parts) => {
    const { answers } = await converse(
      service.port,
      message({ more: ['Expect: a-miracle'], ...parts, body: plant(9) }),
    );

    expectRefusal(answers[0], error);
  });

  it.each(['100-continue', 'a-miracle'])('of %s is ignored in HTTP/1.0', async (expectation) => {
    const bytes = message({ line: 'POST /plants HTTP/1.0', more: [`Expect: ${expectation}`] });
    const { answers, ending } = await converse(service.port, bytes);

    expectPlant(answers[0], 1, CLOSE);
    expect(answers).toHaveLength(1);
    expect(ending).toBe('FIN');
  });

  it.each<[number, string, Parts]>([
    [401, 'a valid token', { authorization: ['Authorization: Bearer none'] }],
    [404, 'a path', { line: 'POST /elsewhere HTTP/1.1' }],
    [415, 'the right media type', { type: ['Content-Type: text/plain'] }],
  ])(
    'of 100-continue of who sends all at once costs those after it nothing: %d without %s',
    async (error, _, parts) => {
      const client = await RawClient.connect(service.port);
      await client.send(
        message({ more: ['Expect: 100-continue'], ...parts, body: plant(9) }) + message({ body: plant(4) }),
      );

      expectRefusal(await client.answer(), error, KEEP_ALIVE);
      expectPlant(await client.answer(), 4, KEEP_ALIVE);
      expect(await client.hangUp()).toBe('FIN');
      await expectNoTrace();
    },
  );

  it('of 100-continue is met in its turn, after the answers before it', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(message({ body: plant(2) }) + message({ framing: EXPECTING, body: '' }));

    expectPlant(await client.answer(), 2, KEEP_ALIVE);
    expect((await client.answer()).statusLine).toBe('HTTP/1.1 100 Continue');
    await client.send(plant(1) + message({ body: plant(3) }));
    expectPlant(await client.answer(), 1, KEEP_ALIVE);
    expectPlant(await client.answer(), 3, KEEP_ALIVE);
    expect(await client.hangUp()).toBe('FIN');
  });
});

describe('a message that is too large', () => {
  /** What the parser counts: the URL, and the names and values of the headers (Node's maxHeaderSize). */
  const LIMIT = 16_384;
  let service: Service;

  beforeAll(async () => {
    service = await startService({ bodyLimit: 20_000 });
  });

  afterEach(async () => {
    expect(await service.rows()).toEqual([]);
  });

  afterAll(() => service.close());

  function counted(bytes: string): number {
    const [line = '', ...headers] = bytes.slice(0, bytes.indexOf('\r\n\r\n')).split('\r\n');
    return [line.split(' ')[1] ?? '', ...headers.flatMap((header) => header.split(/:\s*/))].join('').length;
  }

  /** A request without a token whose URL fills the head up to this size. */
  function withUrl(size: number, parts: Parts = {}): string {
    const filled = (fill: number): string =>
      message({ line: `POST /${'a'.repeat(fill)} HTTP/1.1`, authorization: [], ...parts });
    return filled(size - counted(filled(0)));
  }

  /** A request without a token whose last header fills the head up to this size. */
  function withHeader(size: number, content: string, parts: Parts = {}): string {
    const filled = (fill: number): string =>
      message({ authorization: [], more: [`X-More: ${content}${'a'.repeat(fill)}`], ...parts });
    return filled(size - counted(filled(0)));
  }

  function packets(bytes: string, size: number): string[] {
    return bytes.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
  }

  it.each([
    ['URL', withUrl(LIMIT - 1)],
    ['headers', withHeader(LIMIT - 1, '')],
  ])('is not one whose %s stay below the limit', async (_what, bytes) => {
    for (const pieces of [[bytes], packets(bytes, 1_000), packets(bytes, 8_192)]) {
      const { answers, ending } = await converse(service.port, pieces);

      expectRefusal(answers[0], 401);
      expect(ending).toBe('FIN');
    }
  });

  it('does not hide a token behind thousands of short headers', async () => {
    const { answers } = await converse(
      service.port,
      message({ line: 'GET /plants HTTP/1.1', authorization: [...Array<string>(7_000).fill('A: 1'), AUTHORIZATION] }),
    );

    expectRefusal(answers[0], 405);
  });

  describe.each<[number, string, string]>([
    [414, 'a URL that reaches the limit alone', message({ line: `POST /${'a'.repeat(LIMIT - 1)} HTTP/1.1` })],
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
    [431, 'a long name of a header', message({ more: [`${'a'.repeat(LIMIT)}: 1`] })],
    [431, 'many headers', message({ more: Array<string>(LIMIT).fill('A: 1') })],
    [431, 'a long URL and a long header', withHeader(LIMIT, '', { line: `POST /${'a'.repeat(LIMIT - 500)} HTTP/1.1` })],
  ])('is refused with error %d for %s', (error, _what, bytes) => {
    it.each<[string, readonly string[]]>([
      ['in one packet', [bytes]],
      ['in packets of 1,000 bytes', packets(bytes.slice(0, 2 * LIMIT), 1_000).concat(bytes.slice(2 * LIMIT))],
      ['in packets of 8,192 bytes', packets(bytes, 8_192)],
      ['in packets of 16,383 bytes', packets(bytes, 16_383)],
    ])('%s', async (_how, pieces) => {
      const { answers, ending } = await converse(service.port, pieces);

      expectRefusal(answers[0], error, CLOSE);
      expect(answers).toHaveLength(1);
      expect(ending).toBe('FIN');
    });

    it('in one packet with the request before it', async () => {
      const before = message({ line: 'GET /plants HTTP/1.1', framing: [], body: '' });
      const { answers, ending } = await converse(service.port, before + bytes, { answers: 2 });

      expectRefusal(answers[0], 405, KEEP_ALIVE);
      expectRefusal(answers[1], error, CLOSE);
      expect(answers).toHaveLength(2);
      expect(ending).toBe('FIN');
    });
  });

  it.each([
    ['a URL', `POST /${'a'.repeat(2 * LIMIT)}`],
    ['a header', `POST / HTTP/1.1\r\nX-More: ${'a'.repeat(2 * LIMIT)}`],
  ])('is answered where the line of %s does not end', async (_what, bytes) => {
    for (const pieces of [[bytes], packets(bytes, 10_000)]) {
      const { answers, ending } = await converse(service.port, pieces);

      expect(JSON.parse(answers[0]?.body ?? '')).toMatchObject({ error: expect.any(Number) as unknown });
      expect(answers).toHaveLength(1);
      expect(ending).toBe('FIN');
    }
  });

  it.each<[string, string]>([
    ['a declared length, before a byte of it', message({ framing: ['Content-Length: 20001'], body: '' })],
    ['a declared length beyond all bounds', message({ framing: ['Content-Length: 18446744073709551615'], body: '' })],
    ['a chunk that is not there yet', chunkedMessage(`4e21\r\n${' '.repeat(20_001)}`)],
    ['many small chunks', chunkedMessage('1\r\n \r\n'.repeat(20_001))],
    ['one byte in the last of its chunks', chunkedMessage(chunks(' '.repeat(20_000), ' '))],
  ])('is refused with error 413 for %s', async (_what, bytes) => {
    const { answers, ending } = await converse(service.port, bytes);

    expectRefusal(answers[0], 413);
    expect(answers).toHaveLength(1);
    expect(ending).toBe('FIN');
  });

  it('is refused with error 413 for chunk extensions without end', async () => {
    const { answers, ending } = await converse(service.port, chunkedMessage(`19;${'a'.repeat(20_000)}`));

    expectRefusal(answers[0], 413, CLOSE);
    expect(answers).toHaveLength(1);
    expect(ending).toBe('FIN');
  });

  it('is refused with error 431 for trailers without end', async () => {
    const { answers, ending } = await converse(service.port, chunkedMessage(`0\r\nX-More: ${'a'.repeat(20_000)}`));

    expectRefusal(answers[0], 431, CLOSE);
    expect(answers).toHaveLength(1);
    expect(ending).toBe('FIN');
  });

  it('is refused with error 413 while its chunks still come', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(chunkedMessage(`4e21\r\n${' '.repeat(20_001)}\r\n`));

    expectRefusal(await client.answer(), 413, CLOSE);
    await client.send(`19\r\n${plant(1)}\r\n0\r\n\r\n`);
    expect(await client.hangUp()).toBe('FIN');
  });
});

describe('a message that takes too long', () => {
  let service: Service;
  const verifier = new SlowVerifier();

  beforeEach(async () => {
    verifier.shut();
    service = await startService({ verifier, limits: { headers: 150, request: 300, keepAlive: 100 } });
  });

  afterEach(() => service.close());

  it('is no excuse for clients that do not read their answers: they lose the connection', async () => {
    const clients = Array.from({ length: 20 }, () => {
      const client = connect(service.port, '127.0.0.1').on('error', () => undefined);
      client.pause();
      client.write('GET / HTTP/1.1\r\nHost: plants.example\r\n\r\n'.repeat(40_000));
      return client;
    });
    await Promise.all(clients.map((client) => once(client, 'connect')));
    // The service has all connections when this one has its answer.
    await converse(service.port, message({ line: 'GET / HTTP/1.1' }));

    await everyConnectionIsClosed();
    for (const client of clients) client.destroy();
  });

  it('is refused with error 408 wherever it stops', async () => {
    const beginnings: [string, Bytes[]][] = [
      ['no byte at all', []],
      ['an empty line', ['\r\n']],
      ['half a method', ['PO']],
      ['half a URL', ['POST /pla']],
      ['a request line', ['POST /plants HTTP/1.1\r\n']],
      ['half a header', [`POST /plants HTTP/1.1\r\nHost: plants.example\r\n${AUTHORIZATION}`]],
      ['no empty line', [`POST /plants HTTP/1.1\r\nHost: plants.example\r\n${AUTHORIZATION}\r\n`]],
      ['no body', [message({ framing: ['Content-Length: 25'], body: '' })]],
      ['half a body', [message({ framing: ['Content-Length: 26'] })]],
      ['no chunk', [chunkedMessage('')]],
      ['half a chunk', [chunkedMessage('19\r\n{')]],
      ['no last chunk', [chunkedMessage(`19\r\n${plant(1)}\r\n`)]],
      ['half a trailer', [chunkedMessage(`19\r\n${plant(1)}\r\n0\r\nX-More`)]],
    ];
    // All at a time, as each of them takes as long as a client may.
    const conversations = beginnings.map(async ([where, packets]) => ({
      where,
      ...(await converse(service.port, packets)),
    }));

    for (const { where, answers, ending } of await Promise.all(conversations)) {
      expectRefusal(answers[0], 408, CLOSE);
      expect({ where, answers: answers.length, ending }).toEqual({ where, answers: 1, ending: 'FIN' });
    }
    expect(await service.rows()).toEqual([]);
  });

  it.each<[string, string, string]>([
    ['its headers', 'POST /plants HTTP/1.1\r\nX-More: ', 'a'],
    ['its body', message({ framing: ['Content-Length: 1000000'], body: '' }), ' '],
    ['its chunks', chunkedMessage(''), '1\r\n \r\n'],
  ])('is refused with error 408 though %s still come, bit by bit', async (_what, begun, bit) => {
    const client = await RawClient.connect(service.port);
    await client.send(begun);
    // Not so many that the headers are too large before it is too late.
    for (let count = 0; count < 8_000 && !client.isEnded; count += 1) await client.send(bit);

    expectRefusal(await client.answer(), 408, CLOSE);
    await client.send(bit);
    expect(await client.hangUp()).toBe('FIN');
  });

  it('is refused with error 408 after an answer on the same connection', async () => {
    const bytes = `${message()}POST /plants HTTP/1.1\r\n`;
    const { answers, ending } = await converse(service.port, bytes, { answers: 2 });

    expectPlant(answers[0], 1, KEEP_ALIVE);
    expectRefusal(answers[1], 408, CLOSE);
    expect(ending).toBe('FIN');
  });

  it('is refused with error 408 after 100 Continue', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(message({ framing: ['Content-Length: 25', 'Expect: 100-continue'], body: '' }));

    expect((await client.answer()).statusLine).toBe('HTTP/1.1 100 Continue');
    expectRefusal(await client.answer(), 408, CLOSE);
    expect(await client.hangUp()).toBe('FIN');
  });

  it('has no effect when the rest of it comes after the answer', async () => {
    for (const [begun, rest] of [
      ['POST /plants HTTP/1.1\r\n', message().slice('POST /plants HTTP/1.1\r\n'.length)],
      [message({ framing: ['Content-Length: 25'], body: '' }), plant(1) + message()],
    ] as const) {
      const client = await RawClient.connect(service.port);
      await client.send(begun);

      expectRefusal(await client.answer(), 408, CLOSE);
      await client.send(rest);
      expect(await client.hangUp()).toBe('FIN');
      expect(await service.rows()).toEqual([]);
    }
  });

  it('has no effect when the rest of it comes before the answer, which waits for another one', async () => {
    const [head = '', rest = ''] = message({ body: plant(2) }).split(/(?<=HTTP\/1\.1\r\n)/);
    const client = await RawClient.connect(service.port);
    await client.send(message(SLOW) + head);
    // When a connection that began later is refused, this one has been, too.
    expectRefusal((await converse(service.port, 'POST')).answers[0], 408, CLOSE);
    await client.send(rest);
    await converse(service.port, message({ line: 'GET / HTTP/1.1' }));
    verifier.open();

    expectPlant(await client.answer(), 1, KEEP_ALIVE);
    expectRefusal(await client.answer(), 408, CLOSE);
    expect(await client.hangUp()).toBe('FIN');
    expect(await service.rows()).toEqual([{ id: 1n, name: 'Plant 1', tag: null }]);
  });

  it('is not one that only its answer is slow for', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(message(SLOW));
    expectRefusal((await converse(service.port, 'POST')).answers[0], 408, CLOSE);
    verifier.open();

    expectPlant(await client.answer(), 1, KEEP_ALIVE);
    expect(await client.hangUp()).toBe('FIN');
  });

  it('is not one whose answer is ready and waits for one before it', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(message(SLOW) + message({ authorization: [] }));
    // Each of them takes as long as the service gives clients to read.
    for (let times = 0; times < 3; times++) await converse(service.port, 'POST');
    verifier.open();

    expectPlant(await client.answer(), 1, KEEP_ALIVE);
    expectRefusal(await client.answer(), 401, { ...KEEP_ALIVE, 'www-authenticate': 'Bearer realm="plants"' });
    expect(await client.hangUp()).toBe('FIN');
  });

  it('is not refused where there is none: an idle connection ends without a word', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(message());

    expectPlant(await client.answer(), 1, KEEP_ALIVE);
    expect(await client.ending()).toBe('FIN');
    await client.hangUp();
  });
});

describe('a connection', () => {
  const BAD = 'garbage\r\n\r\n';
  const MEGABYTES = 3_000_000;
  let service: Service;
  const verifier = new SlowVerifier();

  beforeAll(async () => {
    service = await startService({ verifier });
  });

  beforeEach(() => verifier.shut());

  /** Whatever a case has done to the service, it still serves, and holds no connection. */
  afterEach(async () => {
    verifier.open();
    const { answers } = await converse(service.port, message({ body: plant(999) }));
    expectPlant(answers[0], 999, KEEP_ALIVE);
    await everyConnectionIsClosed();
    await service.store.query('DELETE FROM plants');
  });

  afterAll(() => service.close());

  async function ids(): Promise<number[]> {
    return (await service.rows()).map(({ id }) => Number(id));
  }

  /** Resolves when the service has dealt with whatever it had received before. */
  async function afterAllThatCame(): Promise<void> {
    expectRefusal((await converse(service.port, message({ line: 'GET / HTTP/1.1' }))).answers[0], 404);
  }

  describe('that the client has closed its half of', () => {
    it.each<[string, string, readonly number[]]>([
      ['a request', message(), [1]],
      ['a request in chunks', chunkedMessage(chunks(plant(1))), [1]],
      ['a request of HTTP/1.0', message({ line: 'POST /plants HTTP/1.0' }), [1]],
      ['a request that asks to close', message({ more: ['Connection: close'] }), [1]],
      ['a slow request whose body is complete', chunkedMessage(chunks(plant(1)), SLOW), [1]],
      ['many requests', [1, 2, 3, 4, 5].map((id) => message({ body: plant(id) })).join(''), [1, 2, 3, 4, 5]],
      ['a request whose answer takes its time', message(SLOW), [1]],
      ['many requests whose answers take their time', message(SLOW) + message({ ...SLOW, body: plant(2) }), [1, 2]],
    ])('gets all its answers to %s', async (_what, bytes, expected) => {
      const client = await RawClient.connect(service.port);
      await client.hand(bytes);
      client.finish();
      await afterAllThatCame();
      verifier.open();

      for (const id of expected) expectPlant(await client.answer(), id);
      expect(await client.hangUp()).toBe('FIN');
      expect(await ids()).toEqual(expected);
    });

    it.each<[string, readonly string[]]>([
      ['half a body', [message({ ...SLOW, framing: ['Content-Length: 26'] })]],
      ['half a chunk', [chunkedMessage('19\r\n{', SLOW)]],
    ])('gets one refusal of %s, though it is not read yet', async (_what, packets) => {
      const client = await RawClient.connect(service.port);
      for (const packet of packets) await client.send(packet);
      client.finish();
      await afterAllThatCame();
      verifier.open();

      expectRefusal(await client.answer(), 400, CLOSE);
      expect(await client.hangUp()).toBe('FIN');
      expect(await ids()).toEqual([]);
    });
  });

  describe('that the client resets', () => {
    it.each<[string, string]>([
      ['before anything', ''],
      ['in the request line', 'POST /pla'],
      ['in the headers', 'POST /plants HTTP/1.1\r\nHost: '],
      ['before the body', message({ framing: ['Content-Length: 25'], body: '' })],
      ['in the body', message({ framing: ['Content-Length: 26'] })],
      ['in a large body', message({ framing: [`Content-Length: ${MEGABYTES}`], body: ' '.repeat(1_000_000) })],
      ['in a chunk', chunkedMessage('19\r\n{')],
      ['in a body that is not read', message({ framing: ['Content-Length: 26'], authorization: [] })],
      ['in a body that has to wait', message({ ...SLOW, framing: ['Content-Length: 26'] })],
      ['after 100 Continue', message({ framing: ['Content-Length: 25', 'Expect: 100-continue'], body: '' })],
      ['after garbage', BAD],
      ['after CONNECT', message({ line: 'CONNECT plants.example:80 HTTP/1.1' })],
      ['after CONNECT without a token', message({ line: 'CONNECT plants.example:80 HTTP/1.1', authorization: [] })],
      ['after CONNECT whose answer takes its time', message({ ...SLOW, line: 'CONNECT plants.example:80 HTTP/1.1' })],
      ['in a URL over the limit', `POST /${'a'.repeat(20_000)}`],
      ['in a header over the limit', `POST /plants HTTP/1.1\r\nX-More: ${'a'.repeat(20_000)}`],
    ])('%s leaves no trace', async (_when, bytes) => {
      const client = await RawClient.connect(service.port);
      if (bytes !== '') await client.hand(bytes);
      await afterAllThatCame();
      client.reset();
      await client.release();
      verifier.open();
      await afterAllThatCame();

      expect(await ids()).toEqual([]);
    });

    it.each<[string, string]>([
      ['a request', message({ body: plant(2) })],
      ['half a request', 'POST /plants'],
      ['half a body', message({ framing: ['Content-Length: 26'] })],
      ['garbage', BAD],
      ['a request that is refused', message({ authorization: [] })],
      ['a request without Host', message({ host: [] })],
      ['CONNECT', message({ line: 'CONNECT plants.example:80 HTTP/1.1' })],
    ])('while a slow request and %s wait for their answers leaves the service alive', async (_what, bytes) => {
      const client = await RawClient.connect(service.port);
      await client.send(message(SLOW) + bytes);
      await afterAllThatCame();
      client.reset();
      await afterAllThatCame();
      verifier.open();
      await afterAllThatCame();
      await client.release();
    });
  });

  describe('with a body that is refused before it is read', () => {
    const length = `Content-Length: ${MEGABYTES}`;
    const filling = ' '.repeat(MEGABYTES);
    const inChunks = chunks(...Array<string>(30).fill(' '.repeat(100_000)));

    const refusals: [number, string, Parts][] = [
      [400, 'for its Host', { host: ['Host: a b'] }],
      [400, 'for its target', { line: 'POST /%zz HTTP/1.1' }],
      [401, 'for its token', { authorization: [] }],
      [404, 'for its path', { line: 'POST /elsewhere HTTP/1.1' }],
      [405, 'for its method', { line: 'PUT /plants HTTP/1.1' }],
      [415, 'for its type', { type: ['Content-Type: text/plain'] }],
      [413, 'for its size', {}],
      [417, 'for its expectation', { more: ['Expect: a-miracle'] }],
    ];

    describe.each(refusals)('with error %d %s', (error, _reason, parts) => {
      it.each<[string, string]>([
        ['declared', message({ framing: [length], body: filling, ...parts })],
        ['chunked', chunkedMessage(inChunks, parts)],
        [
          'declared, with Connection: close',
          message({ framing: [length, 'Connection: close'], body: filling, ...parts }),
        ],
        [
          'chunked, with Connection: close',
          message({ framing: ['Transfer-Encoding: chunked', 'Connection: close'], body: inChunks, ...parts }),
        ],
        ['declared, with more behind it', message({ framing: [length], body: filling, ...parts }) + message()],
        ['chunked, with more behind it', chunkedMessage(inChunks, parts) + message()],
      ])('tells the client that sends it all before it listens: %s', async (_framing, bytes) => {
        const client = await RawClient.connect(service.port);
        client.pause();
        await client.hand(bytes);
        client.resume();

        expectRefusal(await client.answer(), error, CLOSE);
        expect(await client.hangUp()).toBe('FIN');
        expect(await ids()).toEqual([]);
      });

      it('tells the client that listens, and then sends the rest', async () => {
        const client = await RawClient.connect(service.port);
        await client.send(message({ framing: [length], body: ' ', ...parts }));
        expectRefusal(await client.answer(), error, CLOSE);
        await client.hand(filling.slice(1) + message());
        expect(await client.hangUp()).toBe('FIN');
        expect(await ids()).toEqual([]);
      });

      it('tells the client, after the answer that it has to wait for', async () => {
        const client = await RawClient.connect(service.port);
        await client.send(message({ ...SLOW, body: plant(2) }));
        const handed = client.hand(message({ framing: [length], body: filling, ...parts }) + message());
        await afterAllThatCame();
        verifier.open();

        expectPlant(await client.answer(), 2, KEEP_ALIVE);
        expectRefusal(await client.answer(), error, CLOSE);
        await handed;
        expect(await client.hangUp()).toBe('FIN');
        expect(await ids()).toEqual([2]);
      });
    });
  });

  describe('with many requests', () => {
    it('answers them in their order', async () => {
      const expected = Array.from({ length: 200 }, (_, index) => index + 1);
      const bytes = expected.map((id) => message({ body: plant(id) })).join('');
      const { answers, ending } = await converse(service.port, bytes, { answers: expected.length });

      answers.forEach((answer, index) => expectPlant(answer, index + 1, KEEP_ALIVE));
      expect(answers).toHaveLength(expected.length);
      expect(ending).toBe('FIN');
      expect(await ids()).toEqual(expected);
    });

    it('answers all of them, whatever they are, in their order', async () => {
      const cycle: [number, Parts][] = [
        [200, { body: plant(1) }],
        [404, { line: 'GET /elsewhere HTTP/1.1', framing: [], body: '' }],
        [404, { line: 'POST /elsewhere HTTP/1.1' }],
        [415, { type: ['Content-Type: text/plain'] }],
        [401, { authorization: [], framing: ['Transfer-Encoding: chunked'], body: chunks('{', '}') }],
        [417, { more: ['Expect: a-miracle'] }],
        [422, { body: '{}' }],
        [405, { line: 'PUT /plants HTTP/1.1', framing: [], body: '' }],
        [400, { framing: [], body: '' }],
        [401, { line: 'DELETE /plants HTTP/1.1', authorization: [], framing: [], body: '' }],
        [200, { framing: ['Transfer-Encoding: chunked'], body: chunks(plant(2)) }],
        [400, { body: 'not JSON' }],
        [409, { body: '{"id":1,"name":"Another"}' }],
      ];
      const requests = Array.from({ length: 20 }, () => cycle).flat();
      const bytes = requests.map(([, parts]) => message(parts)).join('');
      const { answers, ending } = await converse(service.port, bytes, { answers: requests.length });

      answers.forEach((answer, index) => {
        const error = requests[index]?.[0];
        if (error === 200) expect(answer.statusLine).toBe('HTTP/1.1 200 OK');
        else expectRefusal(answer, error ?? 0, KEEP_ALIVE);
      });
      expect(ending).toBe('FIN');
      expect(await ids()).toEqual([1, 2]);
    });

    it('answers a client that does not listen before it has sent them all', async () => {
      const COUNT = 5_000;
      const client = await RawClient.connect(service.port);
      client.pause();
      const bytes = message({ line: 'GET /plants HTTP/1.1', framing: [], body: '' }).repeat(COUNT) + BAD;
      const handed = client.hand(bytes);
      await afterAllThatCame();
      client.resume();
      await handed;

      for (let index = 0; index < COUNT; index++) {
        const answer = await client.answer('GET');
        if (index % 500 === 0) expectRefusal(answer, 405, KEEP_ALIVE);
      }
      expectRefusal(await client.answer(), 400, CLOSE);
      expect(await client.hangUp()).toBe('FIN');
    });
  });

  describe('that rests after its answer', () => {
    /** Bytes that this process holds in buffers, the service's among them. */
    function held(): number {
      collectGarbage();
      return process.memoryUsage().arrayBuffers;
    }

    it.each<[string, string, readonly string[]]>([
      ['created a plant', `{"id":1,"name":"${'n'.repeat(1_000_000)}"}`, [AUTHORIZATION]],
      ['was refused for its plant', `{"id":1,"name":${'0'.repeat(1_000_000)}}`, [AUTHORIZATION]],
      ['was refused for its token', 'n'.repeat(60_000), []],
    ])('keeps nothing of a body that %s', async (_what, body, authorization) => {
      const before = held();
      const clients = await Promise.all(Array.from({ length: 20 }, () => RawClient.connect(service.port)));
      for (const client of clients) {
        await client.send(message({ authorization, body }));
        await client.answer();
      }

      // Half of one, and what all the connections need.
      expect(held() - before).toBeLessThan(body.length / 2 + 300_000);
      for (const client of clients) expect(await client.hangUp()).toBe('FIN');
    });
  });

  /** Node's parser loses what follows in the same packet. */
  const OFFER = message({ more: ['Connection: Upgrade', 'Upgrade: h2c'] });

  /** What comes after a request, how it is answered, and whether it ends the connection. */
  const endings: [string, readonly Bytes[], readonly number[]][] = [
    ['garbage', [BAD], [400]],
    ['garbage in two packets', ['gar', BAD], [400]],
    ['garbage and more garbage', [BAD, BAD, BAD], [400]],
    ['garbage and a request', [BAD, message({ body: plant(2) })], [400]],
    ['garbage and CONNECT', [BAD, message({ line: 'CONNECT plants.example:80 HTTP/1.1' })], [400]],
    ['NULs', [new Uint8Array(1_000), new Uint8Array(1_000)], [400]],
    ['the preface of HTTP/2', ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', message({ body: plant(2) })], [400]],
    ['a request without Host', [message({ host: [] }), message({ body: plant(2) })], [400]],
    ['a request without Host and garbage', [message({ host: [] }), BAD], [400]],
    ['a request without Host and half a request', [message({ host: [] }), 'POST /plants'], [400]],
    ['a request without Host and half its body', [message({ host: [], framing: ['Content-Length: 26'] })], [400]],
    ['a request with a bad target', [message({ line: 'GET * HTTP/1.1' }), message({ body: plant(2) })], [400]],
    ['an answer', ['HTTP/1.1 200 OK\r\n\r\n'], [400]],
    ['a bad chunk', [chunkedMessage('x\r\n'), message({ body: plant(2) })], [400]],
    ['a bad chunk after half a plant', [chunkedMessage('5\r\n{"id"'), 'x', BAD], [400]],
    ['a URL over the limit', [`GET /${'a'.repeat(20_000)} HTTP/1.1\r\n`, message({ body: plant(2) })], [414]],
    ['headers over the limit', [`GET / HTTP/1.1\r\nA: ${'a'.repeat(20_000)}\r\n`, message({ body: plant(2) })], [431]],
    ['refused chunks that are bad', [chunkedMessage('1\r\n', { authorization: [] }), 'xx', 'yy'], [401]],
    ['CONNECT', [message({ line: 'CONNECT plants.example:80 HTTP/1.1' }), message({ body: plant(2) })], [404]],
    ['CONNECT and garbage', [message({ line: 'CONNECT plants.example:80 HTTP/1.1' }) + BAD, BAD], [404]],
    [
      'CONNECT without a token',
      [message({ line: 'CONNECT plants.example:80 HTTP/1.1', authorization: [] }), message({ body: plant(2) })],
      [401],
    ],
    ['CONNECT that is not valid', [message({ line: 'CONNECT /plants HTTP/1.1' }), message({ body: plant(2) })], [400]],
    [
      'a request that asks to close, and another one',
      [message({ more: ['Connection: close'] }), message({ body: plant(2) })],
      [200],
    ],
    ['a request that asks to close, and garbage', [message({ more: ['Connection: close'] }), BAD, BAD], [200]],
    [
      'a request that asks to close, and CONNECT',
      [message({ more: ['Connection: close'] }), message({ line: 'CONNECT plants.example:80 HTTP/1.1' })],
      [200],
    ],
    [
      'a request of HTTP/1.0, and another one',
      [message({ line: 'POST /plants HTTP/1.0' }), message({ body: plant(2) })],
      [200],
    ],
    ['a request of HTTP/1.0, and garbage', [message({ line: 'POST /plants HTTP/1.0' }), BAD], [200]],
    ['a refused request, and garbage', [message({ body: 'not JSON' }), BAD], [400, 400]],
    ['an offer of another protocol, and a request', [OFFER, message({ body: plant(2) })], [200]],
    [
      'an offer of another protocol, and a request whose body is one',
      [
        OFFER + message({ framing: [`Content-Length: ${message({ body: plant(2) }).length}`], body: '' }),
        message({ body: plant(2) }),
      ],
      [200],
    ],
  ];

  async function expectInOrder(client: RawClient, errors: readonly number[], before: readonly number[]): Promise<void> {
    for (const id of before) expectPlant(await client.answer(), id, KEEP_ALIVE);
    for (const [index, error] of errors.entries()) {
      const headers = index === errors.length - 1 ? CLOSE : KEEP_ALIVE;
      if (error === 200) expectPlant(await client.answer(), 1, headers);
      else expectRefusal(await client.answer(), error, headers);
    }
    expect(await client.hangUp()).toBe('FIN');
    expect(await ids()).toEqual(errors.includes(200) ? [1, ...before].sort((a, b) => a - b) : before);
  }

  describe.each(endings)('with a good request and %s', (_what, packets, errors) => {
    const first = message({ body: plant(7) });
    const slowFirst = message({ ...SLOW, body: plant(7) });
    const [second = '', ...others] = packets;

    it('gives its last answer once: all of it on its own', async () => {
      const client = await RawClient.connect(service.port);
      for (const packet of packets) await client.send(packet);

      await expectInOrder(client, errors, []);
    });

    it('gives its last answer once: in one packet', async () => {
      const client = await RawClient.connect(service.port);
      await client.send(together(first, ...packets));

      await expectInOrder(client, errors, [7]);
    });

    it('gives its last answer once: in many packets', async () => {
      const client = await RawClient.connect(service.port);
      for (const packet of [first, ...packets]) await client.send(packet);

      await expectInOrder(client, errors, [7]);
    });

    it('gives its last answer once, though the client closes its half', async () => {
      const client = await RawClient.connect(service.port);
      await client.hand(together(first, ...packets));
      client.finish();

      await expectInOrder(client, errors, [7]);
    });

    it.each([
      ['in one packet', false, false],
      ['in many packets', true, false],
      ['in one packet, and the client closes its half', false, true],
      ['in many packets, and the client closes its half', true, true],
    ])('keeps the order while the first takes its time: %s', async (_how, apart, isHalfClosed) => {
      const client = await RawClient.connect(service.port);
      if (apart) {
        for (const packet of [slowFirst, second, ...others]) await client.send(packet);
      } else {
        await client.send(together(slowFirst, ...packets));
      }
      if (isHalfClosed) client.finish();
      await afterAllThatCame();
      verifier.open();

      await expectInOrder(client, errors, [7]);
    });
  });

  it.each([
    ['a request', message({ body: plant(2) })],
    ['garbage', BAD],
  ])('ends with the refusal of a body that comes late, whatever %s comes behind it', async (_what, behind) => {
    for (const before of [[], [message({ ...SLOW, body: plant(7) })]]) {
      verifier.shut();
      const client = await RawClient.connect(service.port);
      for (const packet of before) await client.send(packet);
      await client.send(message({ authorization: [], framing: ['Content-Length: 100'] }));
      await afterAllThatCame();
      await client.send(' '.repeat(75) + behind);
      await client.send(behind);
      verifier.open();

      await expectInOrder(client, [401], before.length === 0 ? [] : [7]);
    }
  });

  it('goes on after the refusal of a body that comes at once', async () => {
    for (const before of [[], [message({ ...SLOW, body: plant(7) })]]) {
      verifier.shut();
      const client = await RawClient.connect(service.port);
      await client.send(together(...before, message({ authorization: [] }), message({ more: ['Connection: close'] })));
      await afterAllThatCame();
      verifier.open();

      await expectInOrder(client, [401, 200], before.length === 0 ? [] : [7]);
    }
  });

  it('keeps the order of a slow request and those after it', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(
      message({ ...SLOW, body: plant(1) }) +
        message({ body: plant(2) }) +
        message({ line: 'GET /plants HTTP/1.1', framing: [], body: '' }) +
        message({ ...SLOW, body: plant(3) }),
    );
    await afterAllThatCame();
    verifier.open();

    expectPlant(await client.answer(), 1, KEEP_ALIVE);
    expectPlant(await client.answer(), 2, KEEP_ALIVE);
    expectRefusal(await client.answer(), 405, KEEP_ALIVE);
    expectPlant(await client.answer(), 3, KEEP_ALIVE);
    expect(await client.hangUp()).toBe('FIN');
  });

  it('is let go though the client does not hang up after its last answer', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(BAD);

    expectRefusal(await client.answer(), 400, CLOSE);
    expect(await client.ending()).toBe('FIN');
    await client.release();
    client.reset();
  });

  it('is let go though the client does not stop sending after its last answer', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(message({ authorization: [], framing: [`Content-Length: ${Number.MAX_SAFE_INTEGER}`] }));

    expectRefusal(await client.answer(), 401, CLOSE);
    while (client.isHeld) await client.hand(' '.repeat(100_000));
    client.reset();
  });
});
