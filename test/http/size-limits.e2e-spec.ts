import { CLOSE, expectOneRefusal, expectRefusal, KEEP_ALIVE } from '../support/http-answers.js';
import { AUTHORIZATION, chunkedMessage, chunks, message, plant } from '../support/http-messages.js';
import { converse, RawClient } from '../support/raw-client.js';
import { sharedService } from '../support/service.js';

/** Node's maxHeaderSize, which limits the URL and the names and values of the headers together. */
const LIMIT = 16_384;

const LONG = 'a'.repeat(LIMIT);
const LONG_URL = message({ line: `POST /${LONG} HTTP/1.1` });

/** Splits bytes into packets. */
function packets(bytes: string): string[] {
  return bytes.match(/[^]{1,1000}/g) ?? [];
}

describe('A request', () => {
  const service = sharedService({ bodyLimit: 20_000 });

  afterEach(async () => {
    expect(await service.rows()).toEqual([]);
  });

  it.each([
    ['URL and headers', message({ line: `POST /${LONG.slice(200)} HTTP/1.1`, authorization: [] })],
    ['headers', message({ more: [`X-More: ${LONG.slice(200)}`], authorization: [] })],
  ])('is not too large if its %s are below the limit', async (_what, bytes) => {
    await expectOneRefusal(service.port, bytes, 401);
    await expectOneRefusal(service.port, packets(bytes), 401);
  });

  it('may have 256 headers, of which the last one is its token', async () => {
    const line = 'GET /plants HTTP/1.1';
    // Host, Content-Type and Content-Length are the others.
    const headers = [...Array<string>(252).fill('A: 1'), AUTHORIZATION];

    await expectOneRefusal(service.port, message({ line, authorization: headers }), 405);
    await expectOneRefusal(service.port, message({ line, authorization: ['A: 1', ...headers] }), 431, CLOSE);
  });

  it.each<[number, string, string]>([
    [414, 'a URL over the limit', LONG_URL],
    [414, 'a long URL of another method', message({ line: `M-SEARCH /${LONG} HTTP/1.1` })],
    [414, 'a long URL in absolute form', message({ line: `GET http://plants.example/${LONG} HTTP/1.1` })],
    [414, 'a URL that does not end', `POST /${LONG.repeat(2)}`],
    [431, 'headers over the limit', message({ more: [`X-More: ${LONG}`] })],
    [431, 'a header that looks like a request line', message({ more: [`X-More: GET /${LONG}`] })],
    [431, 'a long URL and a header', message({ line: `POST /${LONG.slice(200)} HTTP/1.1`, more: [`A: ${LONG}`] })],
    [431, 'a header that does not end', `POST / HTTP/1.1\r\nX-More: ${LONG.repeat(2)}`],
    [431, 'such a header that looks like a request line', `POST / HTTP/1.1\r\nX-More: GET /${LONG.repeat(2)}`],
    [431, 'trailers that do not end', chunkedMessage(`0\r\nX-More: ${LONG}`)],
    [413, 'a chunk extension that does not end', chunkedMessage(`19;${LONG.repeat(2)}`)],
    [413, 'its declared length, before the body', message({ framing: ['Content-Length: 20001'], body: '' })],
    [413, 'a length of 2^64 - 1', message({ framing: ['Content-Length: 18446744073709551615'], body: '' })],
  ])('is refused with error %d for %s', async (error, _what, bytes) => {
    await expectOneRefusal(service.port, bytes, error, CLOSE);
  });

  // Node does not tell in which line a packet begins.
  it('is refused with error 431 for a long URL in many packets', async () => {
    await expectOneRefusal(service.port, packets(LONG_URL), 431, CLOSE);
  });

  it('is refused with error 414 in one packet with the previous request', async () => {
    const before = message({ line: 'GET /plants HTTP/1.1', framing: [], body: '' });
    const [first, second] = await converse(service.port, before + LONG_URL, { count: 2 });

    expectRefusal(first, 405, KEEP_ALIVE);
    expectRefusal(second, 414, CLOSE);
  });

  it.each([
    ['many small chunks', chunkedMessage('1\r\n \r\n'.repeat(20_001))],
    ['one byte in the last chunk', chunkedMessage(chunks(' '.repeat(20_000), ' '))],
  ])('is refused with error 413 for %s', async (_what, bytes) => {
    await expectOneRefusal(service.port, bytes, 413);
  });

  it('is refused with error 413 before its last chunk', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(chunkedMessage(`4e21\r\n${' '.repeat(20_001)}\r\n`));

    expectRefusal(await client.answer(), 413, CLOSE);
    await client.send(`19\r\n${plant(1)}\r\n0\r\n\r\n`);
    await client.hangUp();
  });
});
