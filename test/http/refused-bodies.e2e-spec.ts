import { CLOSE, expectPlant, expectRefusal, KEEP_ALIVE } from '../support/http-answers.js';
import { chunks, message, type Parts, plant } from '../support/http-messages.js';
import { RawClient } from '../support/raw-client.js';
import { SLOW, SlowService, UNVERIFIABLE, WITHOUT_SCOPE } from '../support/slow-service.js';
import { until } from '../support/until.js';

const MEGABYTES = 3_000_000;
const FILLING = ' '.repeat(MEGABYTES);
const LENGTH = `Content-Length: ${MEGABYTES}`;
const STRANGER = { authorization: [] };

describe('A refusal that ends its connection', () => {
  const service = new SlowService();

  const inChunks = chunks(...Array<string>(30).fill(' '.repeat(100_000)));
  const refusals: [number, string, Parts][] = [
    [400, 'for its Host', { host: ['Host: a b'] }],
    [401, 'for its token', STRANGER],
    [401, 'for its token, with Connection: close', { framing: [LENGTH, 'Connection: close'], ...STRANGER }],
    [401, 'for its token, in chunks', { framing: ['Transfer-Encoding: chunked'], body: inChunks, ...STRANGER }],
    [403, 'for the scope of its token', WITHOUT_SCOPE],
    [404, 'for its path', { line: 'POST /elsewhere HTTP/1.1' }],
    [413, 'for its size', {}],
    [415, 'for its media type', { type: ['Content-Type: text/plain'] }],
    [417, 'for its expectation', { more: ['Expect: a-miracle'] }],
    [503, 'for the absence of its identity provider', UNVERIFIABLE],
  ];

  it.each(refusals)('reaches a client that sends its body before it reads: %d %s', async (error, _what, parts) => {
    const client = await RawClient.connect(service.port);
    client.socket.pause();
    await client.hand(message({ framing: [LENGTH], body: FILLING, ...parts }));
    client.socket.resume();

    expectRefusal(await client.answer(), error, CLOSE);
    await client.hangUp();
    expect(await service.ids()).toEqual([]);
  });

  it('reaches a client that first sends more than the operating system buffers', async () => {
    const client = await RawClient.connect(service.port);
    client.socket.pause();
    await client.hand(message({ ...STRANGER, body: FILLING.repeat(10) }));
    client.socket.resume();

    expectRefusal(await client.answer(), 401, CLOSE);
    await client.hangUp();
  });

  it('reaches a client that sends its body slowly before it reads', async () => {
    const client = await RawClient.connect(service.port);
    client.socket.pause();
    await client.send(message({ framing: [LENGTH], body: '', ...STRANGER }));
    const began = performance.now();
    let left = MEGABYTES;
    for (; performance.now() - began < 3_000; left -= 1) await client.send(' ');
    await client.hand(FILLING.slice(0, left));
    client.socket.resume();

    expectRefusal(await client.answer(), 401, CLOSE);
    await client.hangUp();
  });

  it('comes after the answers before it', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(message({ ...SLOW, body: plant(2) }));
    const handed = client.hand(message({ framing: [LENGTH], body: FILLING, ...STRANGER }));
    await service.settled();
    service.release();

    expectPlant(await client.answer(), 2, KEEP_ALIVE);
    expectRefusal(await client.answer(), 401, CLOSE);
    await handed;
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

  it('reaches a client that first sends headers of 3 MB', async () => {
    const client = await RawClient.connect(service.port);
    client.socket.pause();
    await client.hand(`GET / HTTP/1.1\r\nCookie: ${'c'.repeat(MEGABYTES)}`);
    client.socket.resume();

    expectRefusal(await client.answer(), 431, CLOSE);
    await client.hangUp();
  });
});

describe('A refused body', () => {
  const service = new SlowService({ request: 1_000 });

  it('whose rest does not come is waited for until REQUEST_TIMEOUT', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(message({ framing: [LENGTH], ...STRANGER }));
    const before = performance.now();

    expectRefusal(await client.answer(), 401, CLOSE);
    await client.ending();
    expect(performance.now() - before).toBeGreaterThan(900);
    client.reset();
  });

  it('whose rest takes too long is not waited for, although it still comes', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(message({ framing: [`Content-Length: ${Number.MAX_SAFE_INTEGER}`], ...STRANGER }));

    expectRefusal(await client.answer(), 401, CLOSE);
    await until('the service has closed its socket', async () => {
      await client.hand(' '.repeat(1_000));
      return !client.isHeld;
    });
    client.reset();
  });
});
