import { CLOSE, expectPlant, expectRefusal, KEEP_ALIVE } from '../support/http-answers.js';
import { chunkedMessage, chunks, message, type Parts, plant } from '../support/http-messages.js';
import { converse, RawClient } from '../support/raw-client.js';
import { until } from '../support/until.js';
import { SLOW, SlowService, UNVERIFIABLE, WITHOUT_SCOPE } from '../support/slow-service.js';

const BAD = 'garbage\r\n\r\n';
const CONNECT = { line: 'CONNECT plants.example:80 HTTP/1.1' };
/** One byte of the body is missing. */
const INCOMPLETE = { framing: ['Content-Length: 26'] };

describe('A connection', () => {
  const MEGABYTES = 3_000_000;
  const service = new SlowService();

  describe('whose client has closed its side', () => {
    it.each<[string, string, readonly number[]]>([
      ['a request', message(), [1]],
      ['a chunked request with a slow answer', chunkedMessage(chunks(plant(1)), SLOW), [1]],
      ['a request with a slow answer', message(SLOW), [1]],
      [
        'many requests after a large one with a slow answer',
        message({ ...SLOW, body: plant(1) + ' '.repeat(70_000) }) +
          [2, 3, 4].map((id) => message({ body: plant(id) })).join(''),
        [1, 2, 3, 4],
      ],
    ])('gets all its answers to %s', async (_what, bytes, expected) => {
      const client = await RawClient.connect(service.port);
      await client.hand(bytes);
      client.finish();
      await service.settled();
      service.release();

      for (const id of expected) expectPlant(await client.answer(), id);
      await client.hangUp();
      expect(await service.ids()).toEqual(expected);
    });

    it.each([
      ['half a body', message({ ...SLOW, ...INCOMPLETE })],
      ['half a chunk', chunkedMessage('19\r\n{', SLOW)],
    ])('gets one refusal of %s that the service has not read yet', async (_what, bytes) => {
      const client = await RawClient.connect(service.port);
      await client.send(bytes);
      client.finish();
      await service.settled();
      service.release();

      expectRefusal(await client.answer(), 400, CLOSE);
      await client.hangUp();
      expect(await service.ids()).toEqual([]);
    });
  });

  describe('that the client resets', () => {
    it.each([
      ['in the body', message(INCOMPLETE)],
      ['in a body that is not read', message({ ...INCOMPLETE, authorization: [] })],
      ['in a body whose request waits', message({ ...SLOW, ...INCOMPLETE })],
      ['after 100 Continue', message({ framing: ['Content-Length: 25', 'Expect: 100-continue'], body: '' })],
      ['after CONNECT', message(CONNECT)],
    ])('%s stores nothing', async (_when, bytes) => {
      const client = await RawClient.connect(service.port);
      await client.hand(bytes);
      await service.settled();
      client.reset();
      await client.release();
      service.release();
      await service.settled();

      expect(await service.ids()).toEqual([]);
    });

    it.each([
      ['a request', message({ body: plant(2) })],
      ['half a body', message(INCOMPLETE)],
      ['garbage', BAD],
      ['CONNECT', message(CONNECT)],
    ])('while a slow request and %s wait for their answers does not affect the service', async (_what, bytes) => {
      const client = await RawClient.connect(service.port);
      await client.send(message(SLOW) + bytes);
      await service.settled();
      client.reset();
      await service.settled();
      service.release();
      await client.release();

      const [answer] = await converse(service.port, message({ body: plant(3) }));
      expectPlant(answer, 3, KEEP_ALIVE);
      expect(await service.ids()).toContain(3);
    });
  });

  describe('with a request that is refused before its body is read', () => {
    const length = `Content-Length: ${MEGABYTES}`;
    const filling = ' '.repeat(MEGABYTES);
    const inChunks = chunks(...Array<string>(30).fill(' '.repeat(100_000)));

    const refusals: [number, string, Parts][] = [
      [400, 'for its Host', { host: ['Host: a b'] }],
      [401, 'for its token', { authorization: [] }],
      [401, 'for its token, with Connection: close', { framing: [length, 'Connection: close'], authorization: [] }],
      [401, 'for its token, in chunks', { framing: ['Transfer-Encoding: chunked'], body: inChunks, authorization: [] }],
      [403, 'for the scope of its token', WITHOUT_SCOPE],
      [404, 'for its path', { line: 'POST /elsewhere HTTP/1.1' }],
      [413, 'for its size', {}],
      [415, 'for its media type', { type: ['Content-Type: text/plain'] }],
      [417, 'for its expectation', { more: ['Expect: a-miracle'] }],
      [503, 'for the absence of its identity provider', UNVERIFIABLE],
    ];

    it.each(refusals)('delivers error %d %s to a client that sends all before it reads', async (error, _, parts) => {
      const client = await RawClient.connect(service.port);
      client.socket.pause();
      await client.hand(message({ framing: [length], body: filling, ...parts }) + message());
      client.socket.resume();

      expectRefusal(await client.answer(), error, CLOSE);
      await client.hangUp();
      expect(await service.ids()).toEqual([]);
    });

    it.each(refusals)('delivers error %d %s after a slow answer', async (error, _, parts) => {
      const client = await RawClient.connect(service.port);
      await client.send(message({ ...SLOW, body: plant(2) }));
      const handed = client.hand(message({ framing: [length], body: filling, ...parts }) + message());
      await service.settled();
      service.release();

      expectPlant(await client.answer(), 2, KEEP_ALIVE);
      expectRefusal(await client.answer(), error, CLOSE);
      await handed;
      await client.hangUp();
      expect(await service.ids()).toEqual([2]);
    });

    it.each<[number, string, Parts]>([
      [404, 'for its path', { line: 'POST /elsewhere HTTP/1.1' }],
      [415, 'for its media type', { type: ['Content-Type: text/plain'] }],
    ])('ends with error %d %s, although all of the body has arrived', async (error, _, parts) => {
      const client = await RawClient.connect(service.port);
      await client.send(message({ ...SLOW, ...parts }));
      await service.settled();
      service.release();

      expectRefusal(await client.answer(), error, CLOSE);
      await client.hangUp();
    });

    // More than the operating system buffers for both sides.
    it.each([
      [401, 'another request', message({ authorization: [] }) + message({ body: filling.repeat(10) })],
      [401, 'its body', message({ authorization: [], body: filling.repeat(10) })],
      [400, 'the rest of input that is not HTTP', `not HTTP\r\n${filling.repeat(10)}`],
    ])('delivers error %d to a client that first sends 30 MB: %s', async (error, _what, bytes) => {
      const client = await RawClient.connect(service.port);
      client.socket.pause();
      await client.hand(bytes);
      client.socket.resume();

      expectRefusal(await client.answer(), error, CLOSE);
      await client.hangUp();
      expect(await service.ids()).toEqual([]);
    });

    it('delivers it to a client that sends the rest of the body afterwards', async () => {
      const client = await RawClient.connect(service.port);
      await client.send(message({ framing: [length], body: ' ', authorization: [] }));
      expectRefusal(await client.answer(), 401, CLOSE);
      await client.hand(filling.slice(1) + message());
      await client.hangUp();
      expect(await service.ids()).toEqual([]);
    });
  });

  it.each([
    ['invalid JSON', message({ body: '{' })],
    ['invalid JSON in chunks', chunkedMessage(chunks('{'))],
    ['no chunk but the last one', chunkedMessage(chunks())],
  ])('goes on after the refusal of a body that was read: %s', async (_what, bytes) => {
    const client = await RawClient.connect(service.port);
    await client.send(bytes + message());

    expectRefusal(await client.answer(), 400, KEEP_ALIVE);
    expectPlant(await client.answer(), 1, KEEP_ALIVE);
    await client.hangUp();
  });

  it('is closed although the client does not close its side after the last answer', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(BAD);

    expectRefusal(await client.answer(), 400, CLOSE);
    await client.ending();
    await client.release();
    client.reset();
  });

  it('is closed although the client continues to send after the last answer', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(message({ authorization: [], framing: [`Content-Length: ${Number.MAX_SAFE_INTEGER}`] }));

    expectRefusal(await client.answer(), 401, CLOSE);
    await until('the service has closed its socket', async () => {
      await client.hand(' '.repeat(100_000));
      return !client.isHeld;
    });
    client.reset();
  });
});

describe('Clients that have asked to close, and that close their side later', () => {
  const service = new SlowService();

  it('leave room for others when they have taken their answers', async () => {
    const body = JSON.stringify({ id: 1, name: 'n'.repeat(1_000_000) });
    // Together, their bodies occupy more than 16 MiB.
    const clients = await Promise.all(Array.from({ length: 17 }, () => RawClient.connect(service.port)));
    for (const client of clients) expect(await client.ask(message({ body, more: ['Connection: close'] }))).toBe(200);

    const [answer] = await converse(service.port, message({ body: plant(2) }));

    expectPlant(answer, 2, KEEP_ALIVE);
    for (const client of clients) await client.hangUp();
  });
});
