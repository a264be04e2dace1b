/** A client that sends its whole body before it reads gets its refusal, however slowly it sends. */
import { CLOSE, expectRefusal } from '../support/http-answers.js';
import { chunkedMessage, chunks, message, type Parts } from '../support/http-messages.js';
import { RawClient } from '../support/raw-client.js';
import { SLOW, SlowService } from '../support/slow-service.js';

/** More than the operating system buffers for both sides. */
const LENGTH = 30_000_000;
const FILLING = ' '.repeat(LENGTH);
const STRANGER = { authorization: [] };
const UPLOAD: Parts = { framing: [`Content-Length: ${LENGTH}`], body: FILLING };

describe('A refusal that ends its connection', () => {
  const service = new SlowService();

  it.each<[number, string, Parts]>([
    [400, 'for its Host', { ...UPLOAD, host: ['Host: a b'] }],
    [401, 'for its token', { ...UPLOAD, ...STRANGER }],
    [401, 'for its token, in chunks', { framing: ['Transfer-Encoding: chunked'], body: chunks(FILLING), ...STRANGER }],
    [404, 'for its path', { ...UPLOAD, line: 'POST /elsewhere HTTP/1.1' }],
    [413, 'for its size', UPLOAD],
  ])('reaches a client that sends its body before it reads: %d %s', async (error, _what, parts) => {
    const client = await RawClient.connect(service.port);
    client.socket.pause();
    await client.hand(message(parts));
    client.socket.resume();

    expectRefusal(await client.answer(), error, CLOSE);
    await client.hangUp();
    expect(await service.ids()).toEqual([]);
  });

  it('reaches a client that sends its body slowly before it reads', async () => {
    const client = await RawClient.connect(service.port);
    client.socket.pause();
    await client.send(message({ ...UPLOAD, ...STRANGER, body: '' }));
    const began = performance.now();
    let left = LENGTH;
    for (; performance.now() - began < 3_000; left -= 1) await client.send(' ');
    await client.hand(FILLING.slice(0, left));
    client.socket.resume();

    expectRefusal(await client.answer(), 401, CLOSE);
    await client.hangUp();
  });

  it('reaches a client that first sends headers of 3 MB', async () => {
    const client = await RawClient.connect(service.port);
    client.socket.pause();
    await client.hand(`GET / HTTP/1.1\r\nCookie: ${'c'.repeat(3_000_000)}`);
    client.socket.resume();

    expectRefusal(await client.answer(), 431, CLOSE);
    await client.hangUp();
  });

  it.each([
    ['a refused request', message(STRANGER), 401],
    ['garbage', 'garbage\r\n\r\n', 400],
  ])('closes the connection of a client that does not close it, after %s', async (_what, bytes, error) => {
    const client = await RawClient.connect(service.port);
    await client.send(bytes);

    expectRefusal(await client.answer(), error, CLOSE);
    await client.ending();
    await client.release();
    client.reset();
  });
});

describe('A refused body whose rest does not come', () => {
  const service = new SlowService({ request: 1_000 });

  it('is waited for until REQUEST_TIMEOUT', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(message({ ...UPLOAD, ...STRANGER, body: ' ' }));
    const before = performance.now();

    expectRefusal(await client.answer(), 401, CLOSE);
    await client.ending();
    expect(performance.now() - before).toBeGreaterThan(900);
    client.reset();
  });
});

describe('A body that is refused while its token is verified', () => {
  const service = new SlowService({ request: 1_000 });
  const begun = chunkedMessage('1\r\n{\r\n', SLOW);

  it.each([
    [400, 'it is not HTTP', [begun, 'x']],
    [408, 'it is late', [begun]],
  ])('gets error %d because %s, and no line in the log of errors', async (error, _reason, packets) => {
    const client = await RawClient.connect(service.port);
    for (const packet of packets) await client.send(packet);

    expectRefusal(await client.answer(), error, CLOSE);
    await client.hangUp();
    service.release();
    await service.settled();
    expect(service.log).toEqual([]);
  });
});
