import { collectGarbage } from '../support/garbage.js';
import { CLOSE, expectPlant, expectRefusal, KEEP_ALIVE } from '../support/http-answers.js';
import { AUTHORIZATION, chunkedMessage, chunks, message, type Parts, plant } from '../support/http-messages.js';
import { converse, RawClient } from '../support/raw-client.js';
import { SLOW, SlowService } from '../support/slow-service.js';

const BAD = 'garbage\r\n\r\n';

/** A request that must not be run. */
const SECOND = message({ body: plant(2) });

describe('A connection', () => {
  const service = new SlowService();

  describe('with many requests', () => {
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
      const answers = await converse(service.port, bytes, { count: requests.length });

      for (const [index, [error]] of requests.entries()) {
        if (error === 200) expect(answers[index]?.statusLine).toBe('HTTP/1.1 200 OK');
        else expectRefusal(answers[index], error, KEEP_ALIVE);
      }
      expect(await service.ids()).toEqual([1, 2]);
    });

    it('answers a client that reads nothing until it has sent them all', async () => {
      const COUNT = 2_000;
      const client = await RawClient.connect(service.port);
      client.socket.pause();
      const bytes = message({ line: 'GET /plants HTTP/1.1', framing: [], body: '' }).repeat(COUNT) + BAD;
      const handed = client.hand(bytes);
      await service.settled();
      client.socket.resume();
      await handed;

      for (let index = 0; index < COUNT; index++) {
        const answer = await client.answer('GET');
        if (index % 500 === 0) expectRefusal(answer, 405, KEEP_ALIVE);
      }
      expectRefusal(await client.answer(), 400, CLOSE);
      await client.hangUp();
    });
  });

  it('is not read on while a request waits behind another one', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(message({ ...SLOW, body: plant(1) }));
    expect(client.isUnread).toBe(false);
    await client.send(message({ body: plant(2) }));
    await service.settled();
    expect(client.isUnread).toBe(true);

    service.release();
    expectPlant(await client.answer(), 1, KEEP_ALIVE);
    expectPlant(await client.answer(), 2, KEEP_ALIVE);
    expect(client.isUnread).toBe(false);
    await client.hangUp();
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
      for (const client of clients) await client.hangUp();
    });
  });

  /** Node's parser discards what follows in the same packet. */
  const UPGRADE = { more: ['Connection: Upgrade', 'Upgrade: h2c'] };
  const LAST = { more: ['Connection: close'] };
  /** Node's parser takes this header for Connection. */
  const LAST_OF_PROXY = { more: ['Proxy-Connection: close'] };
  const LAST_OF_1_0 = { line: 'POST /plants HTTP/1.0', more: ['Connection: x-keep-alive'] };
  const STRANGER = { authorization: [] };

  type Ending = [string, readonly string[], readonly number[]];

  /** The packets after a request, and the answers to them, the last of which closes the connection: one of each kind. */
  const samples: Ending[] = [
    ['garbage', [BAD], [400]],
    ['a request without Host and half its body', [message({ host: [], framing: ['Content-Length: 26'] })], [400]],
    ['CONNECT', [message({ line: 'CONNECT plants.example:80 HTTP/1.1' }), SECOND], [400]],
    ['a request without a token, and another one', [message(STRANGER), SECOND], [401]],
  ];
  const endings: Ending[] = [
    ...samples,
    ['a request without Host', [message({ host: [] }), SECOND], [400]],
    ['an invalid chunk', [chunkedMessage('x\r\n'), SECOND], [400]],
    ['a request with Connection: close, and another one', [message(LAST) + SECOND], [200]],
    ['a request with Proxy-Connection: close, and another one', [message(LAST_OF_PROXY) + SECOND], [200]],
    ['a request of HTTP/1.0 with an option like keep-alive, and another one', [message(LAST_OF_1_0) + SECOND], [200]],
    ['a request whose body is not read, and another one', [message({ line: 'PUT /plants HTTP/1.1' }), SECOND], [405]],
    ['a refused request, and garbage', [message({ body: 'not JSON' }), BAD], [400, 400]],
    ['a request with Upgrade, and another one', [message(UPGRADE), SECOND], [200]],
  ];

  async function expectInOrder(client: RawClient, errors: readonly number[], before: readonly number[]): Promise<void> {
    for (const id of before) expectPlant(await client.answer(), id, KEEP_ALIVE);
    for (const [index, error] of errors.entries()) {
      const headers = index === errors.length - 1 ? CLOSE : KEEP_ALIVE;
      if (error === 200) expectPlant(await client.answer(), 1, headers);
      else expectRefusal(await client.answer(), error, headers);
    }
    await client.hangUp();
    expect(await service.ids()).toEqual(errors.includes(200) ? [1, ...before] : before);
  }

  describe.each(endings)('with a valid request and %s', (_what, packets, errors) => {
    it('gets one last answer, in many packets', async () => {
      const client = await RawClient.connect(service.port);
      for (const packet of [message({ body: plant(7) }), ...packets]) await client.send(packet);

      await expectInOrder(client, errors, [7]);
    });

    it('gets one last answer after a slow first one, in one packet', async () => {
      const client = await RawClient.connect(service.port);
      await client.send(message({ ...SLOW, body: plant(7) }) + packets.join(''));
      await service.settled();
      service.release();

      await expectInOrder(client, errors, [7]);
    });
  });

  it.each(samples)('gets one last answer to a slow request and %s after the FIN', async (_what, packets, errors) => {
    const client = await RawClient.connect(service.port);
    const [second = '', ...others] = packets;
    for (const packet of [message({ ...SLOW, body: plant(7) }), second]) await client.send(packet);
    // The service may read these only after the first answer.
    for (const packet of others) await client.hand(packet);
    client.finish();
    await service.settled();
    service.release();

    await expectInOrder(client, errors, [7]);
  });

  it.each([
    ['a request', SECOND],
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
    await client.send(message({ host: [] }) + SECOND);

    await expectInOrder(client, [400], []);
  });
});
