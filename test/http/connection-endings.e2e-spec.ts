import {
  chunkedMessage,
  chunks,
  CLOSE,
  expectPlant,
  expectRefusal,
  KEEP_ALIVE,
  message,
  type Parts,
  plant,
} from '../support/http-messages.js';
import { everyConnectionIsClosed, RawClient } from '../support/raw-client.js';
import { SlowService } from '../support/slow-service.js';
import { SLOW } from '../support/slow-verifier.js';

afterAll(everyConnectionIsClosed);

const BAD = 'garbage\r\n\r\n';

describe('A connection', () => {
  const MEGABYTES = 3_000_000;
  let service: SlowService;

  beforeAll(async () => {
    service = await SlowService.start();
  });

  beforeEach(() => service.verifier.shut());

  afterEach(() => service.expectIntact());

  afterAll(() => service.close());

  describe('whose client has closed its side', () => {
    it.each<[string, string, readonly number[]]>([
      ['a request', message(), [1]],
      ['a request in chunks', chunkedMessage(chunks(plant(1))), [1]],
      ['an HTTP/1.0 request', message({ line: 'POST /plants HTTP/1.0' }), [1]],
      ['a request with Connection: close', message({ more: ['Connection: close'] }), [1]],
      ['a chunked request with a slow answer', chunkedMessage(chunks(plant(1)), SLOW), [1]],
      ['many requests', [1, 2, 3, 4, 5].map((id) => message({ body: plant(id) })).join(''), [1, 2, 3, 4, 5]],
      ['a request with a slow answer', message(SLOW), [1]],
      [
        'many requests after a large one with a slow answer',
        message({ ...SLOW, body: plant(1) + ' '.repeat(70_000) }) +
          [2, 3, 4].map((id) => message({ body: plant(id) })).join(''),
        [1, 2, 3, 4],
      ],
      ['many requests with slow answers', message(SLOW) + message({ ...SLOW, body: plant(2) }), [1, 2]],
    ])('gets all its answers to %s', async (_what, bytes, expected) => {
      const client = await RawClient.connect(service.port);
      await client.hand(bytes);
      client.finish();
      await service.settled();
      service.verifier.open();

      for (const id of expected) expectPlant(await client.answer(), id);
      expect(await client.hangUp()).toBe('FIN');
      expect(await service.ids()).toEqual(expected);
    });

    it.each<[string, readonly string[]]>([
      ['half a body', [message({ ...SLOW, framing: ['Content-Length: 26'] })]],
      ['half a chunk', [chunkedMessage('19\r\n{', SLOW)]],
    ])('gets one refusal of %s that the service has not read yet', async (_what, packets) => {
      const client = await RawClient.connect(service.port);
      for (const packet of packets) await client.send(packet);
      client.finish();
      await service.settled();
      service.verifier.open();

      expectRefusal(await client.answer(), 400, CLOSE);
      expect(await client.hangUp()).toBe('FIN');
      expect(await service.ids()).toEqual([]);
    });
  });

  describe('that the client resets', () => {
    it.each<[string, string]>([
      ['before the request', ''],
      ['in the headers', 'POST /plants HTTP/1.1\r\nHost: '],
      ['in the body', message({ framing: ['Content-Length: 26'] })],
      ['in a large body', message({ framing: [`Content-Length: ${MEGABYTES}`], body: ' '.repeat(1_000_000) })],
      ['in a chunk', chunkedMessage('19\r\n{')],
      ['in a body that is not read', message({ framing: ['Content-Length: 26'], authorization: [] })],
      ['in a body whose request waits', message({ ...SLOW, framing: ['Content-Length: 26'] })],
      ['after 100 Continue', message({ framing: ['Content-Length: 25', 'Expect: 100-continue'], body: '' })],
      ['after garbage', BAD],
      ['after CONNECT', message({ line: 'CONNECT plants.example:80 HTTP/1.1' })],
      ['after CONNECT with a slow answer', message({ ...SLOW, line: 'CONNECT plants.example:80 HTTP/1.1' })],
      ['in a URL over the limit', `POST /${'a'.repeat(20_000)}`],
    ])('%s stores nothing', async (_when, bytes) => {
      const client = await RawClient.connect(service.port);
      if (bytes !== '') await client.hand(bytes);
      await service.settled();
      client.reset();
      await client.release();
      service.verifier.open();
      await service.settled();

      expect(await service.ids()).toEqual([]);
    });

    it.each<[string, string]>([
      ['a request', message({ body: plant(2) })],
      ['half a body', message({ framing: ['Content-Length: 26'] })],
      ['garbage', BAD],
      ['a request that is refused', message({ authorization: [] })],
      ['CONNECT', message({ line: 'CONNECT plants.example:80 HTTP/1.1' })],
    ])('while a slow request and %s wait for their answers does not affect the service', async (_what, bytes) => {
      const client = await RawClient.connect(service.port);
      await client.send(message(SLOW) + bytes);
      await service.settled();
      client.reset();
      await service.settled();
      service.verifier.open();
      await service.settled();
      await client.release();
    });
  });

  describe('with a request that is refused before its body is read', () => {
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

    it.each(refusals)(
      'delivers error %d %s to a client that sends the whole body before it reads',
      async (error, _, parts) => {
        const client = await RawClient.connect(service.port);
        client.pause();
        await client.hand(message({ framing: [length], body: filling, ...parts }) + message());
        client.resume();

        expectRefusal(await client.answer(), error, CLOSE);
        expect(await client.hangUp()).toBe('FIN');
        expect(await service.ids()).toEqual([]);
      },
    );

    it.each<[string, string]>([
      ['in chunks', chunkedMessage(inChunks, { authorization: [] })],
      ['with Connection: close', message({ framing: [length, 'Connection: close'], body: filling, authorization: [] })],
      [
        'in chunks, with Connection: close',
        message({ framing: ['Transfer-Encoding: chunked', 'Connection: close'], body: inChunks, authorization: [] }),
      ],
      ['in chunks, with more behind it', chunkedMessage(inChunks, { authorization: [] }) + message()],
    ])('delivers it to a client that sends the body before it reads: %s', async (_framing, bytes) => {
      const client = await RawClient.connect(service.port);
      client.pause();
      await client.hand(bytes);
      client.resume();

      expectRefusal(await client.answer(), 401, CLOSE);
      expect(await client.hangUp()).toBe('FIN');
    });

    it('delivers it to a client that sends the rest of the body afterwards', async () => {
      const client = await RawClient.connect(service.port);
      await client.send(message({ framing: [length], body: ' ', authorization: [] }));
      expectRefusal(await client.answer(), 401, CLOSE);
      await client.hand(filling.slice(1) + message());
      expect(await client.hangUp()).toBe('FIN');
      expect(await service.ids()).toEqual([]);
    });

    it.each(refusals)('delivers error %d %s after a slow answer', async (error, _, parts) => {
      const client = await RawClient.connect(service.port);
      await client.send(message({ ...SLOW, body: plant(2) }));
      const handed = client.hand(message({ framing: [length], body: filling, ...parts }) + message());
      await service.settled();
      service.verifier.open();

      expectPlant(await client.answer(), 2, KEEP_ALIVE);
      expectRefusal(await client.answer(), error, CLOSE);
      await handed;
      expect(await client.hangUp()).toBe('FIN');
      expect(await service.ids()).toEqual([2]);
    });
  });

  it('is closed although the client does not close its side after the last answer', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(BAD);

    expectRefusal(await client.answer(), 400, CLOSE);
    expect(await client.ending()).toBe('FIN');
    await client.release();
    client.reset();
  });

  it('is closed although the client continues to send after the last answer', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(message({ authorization: [], framing: [`Content-Length: ${Number.MAX_SAFE_INTEGER}`] }));

    expectRefusal(await client.answer(), 401, CLOSE);
    while (client.isHeld) await client.hand(' '.repeat(100_000));
    client.reset();
  });
});
