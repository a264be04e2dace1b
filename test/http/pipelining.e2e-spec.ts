import { collectGarbage } from '../support/garbage.js';
import {
  AUTHORIZATION,
  chunkedMessage,
  chunks,
  CLOSE,
  expectPlant,
  expectRefusal,
  KEEP_ALIVE,
  message,
  type Parts,
  plant,
  together,
} from '../support/http-messages.js';
import { type Bytes, converse, everyConnectionIsClosed, RawClient } from '../support/raw-client.js';
import { SlowService } from '../support/slow-service.js';
import { SLOW } from '../support/slow-verifier.js';

afterAll(everyConnectionIsClosed);

const BAD = 'garbage\r\n\r\n';

describe('A connection', () => {
  let service: SlowService;

  beforeAll(async () => {
    service = await SlowService.start();
  });

  beforeEach(() => service.verifier.shut());

  afterEach(() => service.expectIntact());

  afterAll(() => service.close());

  describe('with many requests', () => {
    it('answers them in order', async () => {
      const expected = Array.from({ length: 200 }, (_, index) => index + 1);
      const bytes = expected.map((id) => message({ body: plant(id) })).join('');
      const { answers, ending } = await converse(service.port, bytes, { answers: expected.length });

      answers.forEach((answer, index) => expectPlant(answer, index + 1, KEEP_ALIVE));
      expect(answers).toHaveLength(expected.length);
      expect(ending).toBe('FIN');
      expect(await service.ids()).toEqual(expected);
    });

    it('answers refused and accepted ones in order', async () => {
      const noBody = { framing: [], body: '' };
      const cycle: [number, Parts][] = [
        [200, { body: plant(1) }],
        [404, { line: 'GET /elsewhere HTTP/1.1', ...noBody }],
        [422, { body: '{}' }],
        [405, { line: 'PUT /plants HTTP/1.1', ...noBody }],
        [417, { more: ['Expect: a-miracle'], ...noBody }],
        [400, noBody],
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
      expect(await service.ids()).toEqual([1, 2]);
    });

    it('answers a client that reads nothing until it has sent them all', async () => {
      const COUNT = 5_000;
      const client = await RawClient.connect(service.port);
      client.pause();
      const bytes = message({ line: 'GET /plants HTTP/1.1', framing: [], body: '' }).repeat(COUNT) + BAD;
      const handed = client.hand(bytes);
      await service.settled();
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

  describe('that is idle', () => {
    /** Returns the size of all buffers of this process, including those of the service. */
    function held(): number {
      collectGarbage();
      return process.memoryUsage().arrayBuffers;
    }

    it.each<[string, string, readonly string[]]>([
      ['of a created plant', `{"id":1,"name":"${'n'.repeat(1_000_000)}"}`, [AUTHORIZATION]],
      ['of a refused plant', `{"id":1,"name":${'0'.repeat(1_000_000)}}`, [AUTHORIZATION]],
      ['without a token', 'n'.repeat(60_000), []],
    ])('does not keep a body %s', async (_what, body, authorization) => {
      const before = held();
      const clients = await Promise.all(Array.from({ length: 20 }, () => RawClient.connect(service.port)));
      for (const client of clients) {
        await client.send(message({ authorization, body }));
        await client.answer();
      }

      // Half of a body, and what the connections themselves need.
      expect(held() - before).toBeLessThan(body.length / 2 + 300_000);
      for (const client of clients) expect(await client.hangUp()).toBe('FIN');
    });
  });

  /** Node's parser discards what follows in the same packet. */
  const UPGRADE = message({ more: ['Connection: Upgrade', 'Upgrade: h2c'] });

  /** The packets after a request, and the answers to them; the last one closes the connection. */
  const endings: [string, readonly Bytes[], readonly number[]][] = [
    ['garbage', [BAD], [400]],
    ['garbage in two packets', ['gar', BAD], [400]],
    ['garbage and a request', [BAD, message({ body: plant(2) })], [400]],
    ['the preface of HTTP/2', ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', message({ body: plant(2) })], [400]],
    ['a request without Host', [message({ host: [] }), message({ body: plant(2) })], [400]],
    ['a request without Host and half its body', [message({ host: [], framing: ['Content-Length: 26'] })], [400]],
    ['an invalid chunk', [chunkedMessage('x\r\n'), message({ body: plant(2) })], [400]],
    ['a URL over the limit', [`GET /${'a'.repeat(20_000)} HTTP/1.1\r\n`, message({ body: plant(2) })], [414]],
    ['headers over the limit', [`GET / HTTP/1.1\r\nA: ${'a'.repeat(20_000)}\r\n`, message({ body: plant(2) })], [431]],
    ['a refused request with invalid chunks', [chunkedMessage('1\r\n', { authorization: [] }), 'xx', 'yy'], [401]],
    ['CONNECT', [message({ line: 'CONNECT plants.example:80 HTTP/1.1' }), message({ body: plant(2) })], [400]],
    [
      'CONNECT without a token',
      [message({ line: 'CONNECT plants.example:80 HTTP/1.1', authorization: [] }), message({ body: plant(2) })],
      [400],
    ],
    [
      'a request with Connection: close, and another one',
      [message({ more: ['Connection: close'] }), message({ body: plant(2) })],
      [200],
    ],
    ['a request with Connection: close, and garbage', [message({ more: ['Connection: close'] }), BAD, BAD], [200]],
    [
      'an HTTP/1.0 request, and another one',
      [message({ line: 'POST /plants HTTP/1.0' }), message({ body: plant(2) })],
      [200],
    ],
    [
      'a request without a token, and another one',
      [message({ authorization: [] }), message({ body: plant(2) })],
      [401],
    ],
    [
      'a request whose body is not read, and another one',
      [message({ line: 'PUT /plants HTTP/1.1' }), message({ body: plant(2) })],
      [405],
    ],
    ['a refused request, and garbage', [message({ body: 'not JSON' }), BAD], [400, 400]],
    ['a request with Upgrade, and another one', [UPGRADE, message({ body: plant(2) })], [200]],
    [
      'a request with Upgrade whose body is a request',
      [
        UPGRADE + message({ framing: [`Content-Length: ${message({ body: plant(2) }).length}`], body: '' }),
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
    expect(await service.ids()).toEqual(errors.includes(200) ? [1, ...before].sort((a, b) => a - b) : before);
  }

  describe.each(endings)('with a valid request and %s', (_what, packets, errors) => {
    it('gets one last answer, in many packets', async () => {
      const client = await RawClient.connect(service.port);
      for (const packet of [message({ body: plant(7) }), ...packets]) await client.send(packet);

      await expectInOrder(client, errors, [7]);
    });

    it('gets one last answer after a slow first one, in one packet', async () => {
      const client = await RawClient.connect(service.port);
      await client.send(together(message({ ...SLOW, body: plant(7) }), ...packets));
      await service.settled();
      service.verifier.open();

      await expectInOrder(client, errors, [7]);
    });
  });

  /** One ending of each kind: garbage, a refusal without a handler, a refusal by one, and a valid last request. */
  const samples = endings.filter(([what]) =>
    [
      'garbage',
      'a request without Host and half its body',
      'CONNECT',
      'a request without a token, and another one',
    ].includes(what),
  );

  describe.each(samples)('with a valid request and %s', (_what, packets, errors) => {
    const slow = message({ ...SLOW, body: plant(7) });

    it('gets one last answer without the valid request', async () => {
      const client = await RawClient.connect(service.port);
      for (const packet of packets) await client.send(packet);

      await expectInOrder(client, errors, []);
    });

    it('gets one last answer, although the client closes its side', async () => {
      const client = await RawClient.connect(service.port);
      await client.hand(together(message({ body: plant(7) }), ...packets));
      client.finish();

      await expectInOrder(client, errors, [7]);
    });

    it('gets one last answer after a slow first one, in many packets, although the client closes its side', async () => {
      const client = await RawClient.connect(service.port);
      const [second = '', ...others] = packets;
      for (const packet of [slow, second]) await client.send(packet);
      // The service may read these only after the first answer.
      for (const packet of others) await client.hand(packet);
      client.finish();
      await service.settled();
      service.verifier.open();

      await expectInOrder(client, errors, [7]);
    });
  });

  it.each([
    ['a request', message({ body: plant(2) })],
    ['garbage', BAD],
  ])('ends with the refusal of a request whose body comes late, even if %s follows it', async (_what, behind) => {
    const client = await RawClient.connect(service.port);
    await client.send(message({ authorization: [], framing: ['Content-Length: 100'] }));
    await service.settled();
    await client.send(' '.repeat(75) + behind);
    await client.send(behind);

    await expectInOrder(client, [401], []);
  });

  it('ends with a refusal, and does not run a request in the same packet', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(message({ host: [] }) + message({ body: plant(2) }));

    await expectInOrder(client, [400], []);
  });

  it('keeps the order of a slow request and those after it', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(
      message({ ...SLOW, body: plant(1) }) +
        message({ body: plant(2) }) +
        message({ line: 'GET /plants HTTP/1.1', framing: [], body: '' }) +
        message({ ...SLOW, body: plant(3) }),
    );
    await service.settled();
    service.verifier.open();

    expectPlant(await client.answer(), 1, KEEP_ALIVE);
    expectPlant(await client.answer(), 2, KEEP_ALIVE);
    expectRefusal(await client.answer(), 405, KEEP_ALIVE);
    expectPlant(await client.answer(), 3, KEEP_ALIVE);
    expect(await client.hangUp()).toBe('FIN');
  });
});
