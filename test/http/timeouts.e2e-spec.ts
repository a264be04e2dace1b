import { once } from 'node:events';
import { connect } from 'node:net';
import {
  AUTHORIZATION,
  chunkedMessage,
  CLOSE,
  expectPlant,
  expectRefusal,
  KEEP_ALIVE,
  message,
  plant,
} from '../support/http-messages.js';
import { type Bytes, converse, everyConnectionIsClosed, RawClient } from '../support/raw-client.js';
import { type Service, startService } from '../support/service.js';
import { SLOW, SlowVerifier } from '../support/slow-verifier.js';

afterAll(everyConnectionIsClosed);

describe('A client that does not take the answer', () => {
  it('loses its connection after REQUEST_TIMEOUT', async () => {
    const service = await startService({ bodyLimit: 20_000_000, limits: { request: 2_000 } });
    const client = connect(service.port, '127.0.0.1').on('error', () => undefined);
    client.pause();
    // More than the operating system buffers for both sides.
    client.write(message({ body: `{"id":1,"name":"${'n'.repeat(16_000_000)}"}` }));
    await once(client, 'connect');
    // After this answer, the service has accepted the connection.
    await converse(service.port, message({ line: 'GET / HTTP/1.1' }));

    await everyConnectionIsClosed();
    client.destroy();
    expect(await service.rows()).toHaveLength(1);
    await service.close();
  });
});

describe('A request that is too slow', () => {
  let service: Service;
  const verifier = new SlowVerifier();

  beforeEach(async () => {
    verifier.shut();
    service = await startService({ verifier, limits: { headers: 150, request: 300, keepAlive: 100 } });
  });

  afterEach(() => service.close());

  it('is refused with error 408 at whatever byte it stops', async () => {
    const beginnings: [string, Bytes[]][] = [
      ['no byte', []],
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
    // In parallel, because each takes as long as the timeout.
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
    ['bytes of its headers', 'POST /plants HTTP/1.1\r\nX-More: ', 'a'],
    ['bytes of its body', message({ framing: ['Content-Length: 1000000'], body: '' }), ' '],
    ['its chunks', chunkedMessage(''), '1\r\n \r\n'],
  ])('is refused with error 408 although %s continue to come', async (_what, begun, bit) => {
    const client = await RawClient.connect(service.port);
    await client.send(begun);
    // Few enough that the headers do not become too large before the timeout.
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

  it('has no effect when its rest comes after the refusal', async () => {
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

  it('has no effect when its rest comes while the refusal waits for the answer before it', async () => {
    const [head = '', rest = ''] = message({ body: plant(2) }).split(/(?<=HTTP\/1\.1\r\n)/);
    const client = await RawClient.connect(service.port);
    await client.send(message(SLOW) + head);
    // The timeout of this request, which begins later, comes after the other one.
    expectRefusal((await converse(service.port, 'POST')).answers[0], 408, CLOSE);
    await client.send(rest);
    await converse(service.port, message({ line: 'GET / HTTP/1.1' }));
    verifier.open();

    expectPlant(await client.answer(), 1, KEEP_ALIVE);
    expectRefusal(await client.answer(), 408, CLOSE);
    expect(await client.hangUp()).toBe('FIN');
    expect(await service.rows()).toEqual([{ id: 1n, name: 'Plant 1', tag: null }]);
  });

  it('is not one with a slow answer', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(message(SLOW));
    expectRefusal((await converse(service.port, 'POST')).answers[0], 408, CLOSE);
    verifier.open();

    expectPlant(await client.answer(), 1, KEEP_ALIVE);
    expect(await client.hangUp()).toBe('FIN');
  });

  it('is not one whose answer waits for the answer before it', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(message({ body: plant(2) }));
    expectPlant(await client.answer(), 2, KEEP_ALIVE);
    await client.send(message(SLOW) + message({ authorization: [] }));
    // Each takes as long as the timeout.
    for (let times = 0; times < 3; times++) await converse(service.port, 'POST');
    verifier.open();

    expectPlant(await client.answer(), 1, KEEP_ALIVE);
    expectRefusal(await client.answer(), 401, CLOSE);
    expect(await client.hangUp()).toBe('FIN');
  });

  it('is not an idle connection, which ends without an answer', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(message());

    expectPlant(await client.answer(), 1, KEEP_ALIVE);
    expect(await client.ending()).toBe('FIN');
    await client.hangUp();
  });
});
