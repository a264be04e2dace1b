import { METHODS } from 'node:http';
import { CLOSE, expectPlant, expectRefusal, KEEP_ALIVE } from '../support/http-answers.js';
import { AUTHORIZATION, chunkedMessage, chunks, message, plant } from '../support/http-messages.js';
import { type Bytes, RawClient } from '../support/raw-client.js';
import { sharedService } from '../support/service.js';

/** The id of the plant that was created, or the error number. */
type Answer = { readonly plant: number } | number;

interface Row {
  readonly what: string;
  /** The packets of a connection. */
  readonly sent: Bytes | readonly Bytes[];
  /** The answers to them, in order. */
  readonly answers: readonly Answer[];
  /** True if the connection ends with the last answer; otherwise it takes another request. */
  readonly isLast: boolean;
}

/** A row whose connection goes on. */
function goesOn(what: string, sent: Bytes | readonly Bytes[], ...answers: readonly Answer[]): Row {
  return { what, sent, answers, isLast: false };
}

/** A row whose connection ends. */
function ends(what: string, sent: Bytes | readonly Bytes[], ...answers: readonly Answer[]): Row {
  return { what, sent, answers, isLast: true };
}

/** One byte is missing at the end. */
const INCOMPLETE = { framing: ['Content-Length: 26'] };
const HTTP_1_0 = 'POST /plants HTTP/1.0';
const CHUNKED = ['Transfer-Encoding: chunked'];
const IN_CHUNKS = { framing: CHUNKED, body: chunks(plant(1)) };
const STRANGER = { authorization: [] };
const NO_BODY = { framing: [], body: '' };
const GARBAGE = 'garbage\r\n\r\n';
const CONNECT = message({ line: 'CONNECT plants.example:80 HTTP/1.1', ...NO_BODY });
const PLANT_1 = { plant: 1 };

/** More than `maxHeaderSize` of Node. */
const LONG = 'a'.repeat(20_000);
const BODY_LIMIT = 20_000;

/** Returns a request line with another target, or another method. */
const at = (target: string, method = 'POST') => ({ line: `${method} ${target} HTTP/1.1` });

/** All raw messages, and their answers, by the paragraphs that decide. */
const TABLE: Record<string, readonly Row[]> = {
  'RFC 9112 §2.2, message parsing': [
    goesOn('a request byte by byte', Array.from(message()), PLANT_1),
    goesOn('an empty line before the request', `\r\n${message()}`, PLANT_1),
    ends('words', 'The quick brown fox\r\n\r\n', 400),
    ends('a TLS ClientHello', Buffer.from('16030100c8010000c40303' + '5a'.repeat(32), 'hex'), 400),
    ends('the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', 400),
    ends('a line of the PROXY protocol', `PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n${message()}`, 400),
    ends('a bare LF in a header', message({ more: ['X-More: 1\nX-Another: 2'] }), 400),
  ],
  'RFC 9112 §2.3, version': [
    goesOn('HTTP/1.0 with Keep-Alive', message({ line: HTTP_1_0, more: ['Connection: Keep-Alive'] }), PLANT_1),
    ends('HTTP/1.0', message({ line: HTTP_1_0 }), PLANT_1),
  ],
  'RFC 9112 §3.1, method': [
    ends('a method in lower case', message({ line: 'post /plants HTTP/1.1' }), 400),
    ...METHODS.filter((method) => method !== 'CONNECT' && method !== 'POST').flatMap((method) => [
      goesOn(`${method} of the path`, message({ ...at('/plants', method), ...NO_BODY }), 405),
      goesOn(`${method} of another path`, message({ ...at('/elsewhere', method), ...NO_BODY }), 404),
      ends(`${method} without a token`, message({ ...at('/plants', method), ...NO_BODY, ...STRANGER }), 401),
    ]),
  ],
  'RFC 9112 §3.2, request target': [
    goesOn('a query', message(at('/plants?a=%C3%A4&b=/?:@')), PLANT_1),
    goesOn('a query that is not UTF-8', message(at('/plants?%ff')), PLANT_1),
    goesOn('an escaped path', message(at('/%70l%61nts')), PLANT_1),
    goesOn('the absolute form', message(at('http://other.example:443/plants?a')), PLANT_1),
    goesOn('the absolute form with an IPv6 address', message(at('http://[::1]:80/%70lants')), PLANT_1),
    ...['/', '//plants', '/plants/', '/Plants', '/%2Fplants', '/./plants', '/%2570lants', '/plants%3F', '/:a('].map(
      (target) => goesOn(target, message({ ...at(target), ...NO_BODY }), 404),
    ),
    ends('another path without a token', message({ ...at('/:plant'), ...STRANGER }), 401),
    ...['*', '*plants', 'ftp://other.example/plants', 'http://other.example', 'http://other.example?/plants'].flatMap(
      (target) => [
        goesOn(target, message({ ...at(target, 'OPTIONS'), ...NO_BODY }), 404),
        ends(`${target} without a token`, message({ ...at(target, 'OPTIONS'), ...STRANGER }), 401),
      ],
    ),
    ends('an escape without digits', message(at('/%zz')), 400),
    ends('an escape that is not UTF-8', message(at('/plants%ff')), 400),
    ends('no slash at its start', message(at('plants')), 400),
    ends('CONNECT', CONNECT, 400),
    ends('CONNECT without a token', message({ ...at('[::1]:80', 'CONNECT'), ...STRANGER }), 400),
  ],
  'RFC 9112 §3.2 and RFC 9110 §7.2, Host': [
    goesOn('an empty one', message({ host: ['Host:'] }), PLANT_1),
    goesOn('a port', message({ host: ['Host: plants.example:3000'] }), PLANT_1),
    goesOn('an IPv6 address with a port', message({ host: ['Host: [::ffff:192.0.2.1]:80'] }), PLANT_1),
    ends('none in HTTP/1.0', message({ line: HTTP_1_0, host: [] }), PLANT_1),
    ends('none', message({ host: [] }), 400),
    ends('none, and no token', message({ host: [], ...STRANGER }), 400),
    ends('none, in the absolute form', message({ ...at('http://plants.example/plants'), host: [] }), 400),
    ends('two', message({ host: ['Host: plants.example', 'Host: plants.example'] }), 400),
    ends('two, the first one empty', message({ host: ['Host:', 'Host: plants.example'] }), 400),
    ends('a list', message({ host: ['Host: plants.example, other.example'] }), 400),
    ends('user information', message({ host: ['Host: user@plants.example'] }), 400),
    ends('a port in words', message({ host: ['Host: plants.example:http'] }), 400),
    ends('an IPv6 address without brackets', message({ host: ['Host: ::1'] }), 400),
  ],
  'RFC 9112 §5, headers': [
    goesOn('many', message({ more: Array<string>(500).fill('A: 1') }), PLANT_1),
    ends('a line without a colon', message({ more: ['X-More'] }), 400),
    ends('a line that continues in the next one', message({ more: ['X-More: 1,', '  2'] }), 400),
    ends('too long a one', message({ more: [`X-More: ${LONG}`] }), 431),
    ends('one that does not end', `POST / HTTP/1.1\r\nX-More: ${LONG}`, 431),
    ends('too long a target', message(at(`/${LONG}`)), 431),
    ends('too long trailers', chunkedMessage(`0\r\nX-More: ${LONG}`), 431),
    ends('a long target without a token', message({ ...at(`/${LONG.slice(5_000)}`), ...STRANGER }), 401),
  ],
  'RFC 9112 §6.1 and §6.3, length of the body': [
    goesOn('chunks', message({ ...IN_CHUNKS, framing: ['Transfer-Encoding: Chunked'] }), PLANT_1),
    goesOn('none, and no body', message(NO_BODY), 400),
    goesOn('zero', message({ framing: ['Content-Length: 0'], body: '' }), 400),
    ends('a list of lengths', message({ framing: ['Content-Length: 25, 25'] }), 400),
    ends('two equal lengths', message({ framing: ['Content-Length: 25', 'Content-Length: 25'] }), 400),
    ends('a length after chunked', message({ ...IN_CHUNKS, framing: [...CHUNKED, 'Content-Length: 36'] }), 400),
    ends('a length before chunked', message({ ...IN_CHUNKS, framing: ['Content-Length: 36', ...CHUNKED] }), 400),
    ends('an empty coding after a length', message({ framing: ['Content-Length: 25', 'Transfer-Encoding:'] }), 400),
    ends('the coding identity', message({ framing: ['Transfer-Encoding: identity'] }), 400),
    ends('over the limit, before the body', message({ framing: ['Content-Length: 20001'], body: '' }), 413),
    ends('2^64 - 1', message({ framing: ['Content-Length: 18446744073709551615'], body: '' }), 413),
  ],
  'RFC 9112 §7.1, chunks': [
    goesOn('several', chunkedMessage(chunks('{"id":1,', '"name":"Plant 1"}')), PLANT_1),
    goesOn('none but the last one', chunkedMessage(chunks()), 400),
    goesOn('trailers', chunkedMessage(`19\r\n${plant(1)}\r\n0\r\nHost: a b\r\nAuthorization: none\r\n\r\n`), PLANT_1),
    ends('a size that is not hexadecimal', chunkedMessage(`19x\r\n${plant(1)}\r\n0\r\n\r\n`), 400),
    ends('a bare LF after the size', chunkedMessage(`19\n${plant(1)}\r\n0\r\n\r\n`), 400),
    ends('a trailer without a colon', chunkedMessage(`19\r\n${plant(1)}\r\n0\r\nX-More\r\n\r\n`), 400),
    ends('no size, in a second packet', [chunkedMessage(''), 'x'], 400),
    ends('no size, without a token', chunkedMessage('x', STRANGER), 400),
    ends('extensions that do not end', chunkedMessage(`19;${LONG}`), 400),
    ends('more bytes than the limit', chunkedMessage(chunks(' '.repeat(BODY_LIMIT), ' ')), 413),
    ends('many small ones over the limit', chunkedMessage('1\r\n \r\n'.repeat(BODY_LIMIT + 1)), 413),
  ],
  'RFC 9112 §9.3.2, pipelining': [
    goesOn('three', [1, 2, 3].map((id) => message({ body: plant(id) })).join(''), PLANT_1, { plant: 2 }, { plant: 3 }),
    goesOn('accepted and refused ones', message({ body: '{' }) + message(NO_BODY) + message(), 400, 400, PLANT_1),
    ends('garbage behind a request', message() + GARBAGE, PLANT_1, 400),
    ends('garbage behind a request, in another packet', [message(), GARBAGE], PLANT_1, 400),
    ends('garbage behind a refused request', message({ body: '{' }) + GARBAGE, 400, 400),
    ends('too long a target behind a request', message() + message(at(`/${LONG}`)), PLANT_1, 431),
    ends('CONNECT behind a request', message() + CONNECT, PLANT_1, 400),
    ends('a request behind garbage', GARBAGE + message(), 400),
  ],
  'RFC 9112 §9.6, the last answer of a connection': [
    ends('Connection: close', message({ more: ['Connection: x-more, CLOSE'] }) + message({ body: plant(2) }), PLANT_1),
    ends('no token', message(STRANGER), 401),
    ends('no token behind a request', message() + message(STRANGER), PLANT_1, 401),
    ends('no token, and garbage', message(STRANGER) + GARBAGE, 401),
    ends('no token, and a body that does not come', message({ ...STRANGER, ...INCOMPLETE, body: '' }), 401),
    ends('an unread body', message(at('/elsewhere')), 404),
    ends('an unread body of another media type', message({ type: ['Content-Type: text/plain'] }), 415),
    ends('no Host', message({ host: [] }), 400),
  ],
  'RFC 9110 §7.8, Upgrade is ignored': [
    goesOn('h2c', message({ more: ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c'] }), PLANT_1),
  ],
  'RFC 9110 §8.3 and §8.4, media type': [
    goesOn('in other letters', message({ type: ['Content-Type: Application/JSON'] }), PLANT_1),
    goesOn('a parameter', message({ type: ['Content-Type: application/json ;charset=latin1'] }), PLANT_1),
    goesOn('the coding identity', message({ more: ['Content-Encoding: Identity'] }), PLANT_1),
    ends('the coding gzip', message({ more: ['Content-Encoding: gzip'] }), 415),
  ],
  'RFC 9110 §10.1.1, Expect': [
    ...['a-miracle', '100-continued'].map((expectation) =>
      ends(expectation, message({ framing: ['Content-Length: 25', `Expect: ${expectation}`], body: '' }), 417),
    ),
    ends('something else without a token', message({ more: ['Expect: a-miracle'], ...STRANGER }), 401),
    ends('100-continue, ignored in HTTP/1.0', message({ line: HTTP_1_0, more: ['Expect: 100-continue'] }), PLANT_1),
    ends('something else, ignored in HTTP/1.0', message({ line: HTTP_1_0, more: ['Expect: a-miracle'] }), PLANT_1),
  ],
  'RFC 9110 §11.6.2, Authorization': [
    ends('two equal ones', message({ authorization: [AUTHORIZATION, AUTHORIZATION] }), 401),
    ends('an empty one before it', message({ authorization: ['Authorization:', AUTHORIZATION] }), 401),
    ends('another one before it', message({ authorization: ['Authorization: Bearer none', AUTHORIZATION] }), 401),
  ],
};

const service = sharedService({ bodyLimit: BODY_LIMIT });

describe.each(Object.entries(TABLE))('%s', (_paragraph, rows) => {
  afterEach(() => service.store.query('DELETE FROM plants'));

  it.each(rows)('$what', async ({ what, sent, answers, isLast }) => {
    const client = await RawClient.connect(service.port);
    const packets = typeof sent === 'string' || sent instanceof Uint8Array ? [sent] : sent;
    for (const packet of packets) await client.send(packet);

    const ids: number[] = [];
    for (const [index, expected] of answers.entries()) {
      const headers = isLast && index === answers.length - 1 ? CLOSE : KEEP_ALIVE;
      const method = what.startsWith('HEAD ') ? 'HEAD' : 'POST';
      if (typeof expected === 'number') {
        expectRefusal(await client.answer(method), expected, headers, method);
      } else {
        expectPlant(await client.answer(), expected.plant, headers);
        ids.push(expected.plant);
      }
    }
    if (!isLast) {
      await client.send(message({ body: plant(99) }));
      expectPlant(await client.answer(), 99, KEEP_ALIVE);
      ids.push(99);
    }
    await client.hangUp();
    expect((await service.rows()).map(({ id }) => Number(id))).toEqual(ids);
  });
});
