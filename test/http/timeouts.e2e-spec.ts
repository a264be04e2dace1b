import { once } from 'node:events';
import { connect } from 'node:net';
import { CLOSE, expectOneRefusal, expectPlant, expectRefusal, KEEP_ALIVE } from '../support/http-answers.js';
import { AUTHORIZATION, chunkedMessage, message, plant } from '../support/http-messages.js';
import { converse, everyConnectionIsClosed, RawClient } from '../support/raw-client.js';
import { sharedService, startService } from '../support/service.js';
import { SLOW, SlowService } from '../support/slow-service.js';
import { until } from '../support/until.js';

describe('A client that does not take the answer', () => {
  /** Room for a body of 16 MB and its plant, and for those of a newcomer: together, requests may occupy twice as much. */
  const BODY_LIMIT = 64_000_000;

  it.each([
    ['which may send more requests', []],
    ['which has asked to close', ['Connection: close']],
  ])('loses its connection, %s, after REQUEST_TIMEOUT', async (_what, more) => {
    // Long enough for a busy machine to receive the body.
    const limit = 4_000;
    const service = await startService({ bodyLimit: BODY_LIMIT, limits: { request: limit } });
    const client = connect(service.port, '127.0.0.1').on('error', () => undefined);
    client.pause();
    // More than the operating system buffers for both sides.
    client.write(message({ more, body: `{"id":1,"name":"${'n'.repeat(16_000_000)}"}` }));
    await once(client, 'connect');
    // After this answer, the service has accepted the connection.
    await converse(service.port, message({ line: 'GET / HTTP/1.1' }));
    await until('the plant is stored', async () => (await service.rows()).length === 1);
    const before = performance.now();

    await everyConnectionIsClosed();
    // The answer may have begun a moment before.
    expect(performance.now() - before).toBeGreaterThan(limit / 2);
    expect(performance.now() - before).toBeLessThan(4 * limit);
    client.destroy();
    expect(await service.rows()).toHaveLength(1);
    await service.close();
  });

  it.each([
    ['which may send more requests', []],
    ['which has asked to close', ['Connection: close']],
  ])('loses its connection, %s, before that if a newcomer wants its place', async (_what, more) => {
    const service = await startService({ bodyLimit: BODY_LIMIT, limits: { connections: 1, request: 3_600_000 } });
    const client = connect(service.port, '127.0.0.1').on('error', () => undefined);
    client.pause();
    client.write(message({ more, body: `{"id":1,"name":"${'n'.repeat(16_000_000)}"}` }));
    await until('the plant is stored', async () => (await service.rows()).length === 1);

    // Until the answer has begun, the service is at work, and a newcomer gets error 503.
    await until('a newcomer gets the place', async () => {
      const [answer] = await converse(service.port, message({ body: plant(2) }));
      return answer?.statusLine === 'HTTP/1.1 200 OK';
    });
    await everyConnectionIsClosed();
    client.destroy();
    await service.close();
  });
});

describe('A request that is too slow', () => {
  const LINE = 'POST /plants HTTP/1.1\r\n';
  const WITHOUT_BODY = message({ framing: ['Content-Length: 25'], body: '' });
  /** Long enough that a busy machine reads in time what has arrived. */
  const REQUEST_TIMEOUT = 600;
  const service = new SlowService({ headers: 400, request: REQUEST_TIMEOUT });

  /** Waits until requests that have begun before are too slow. */
  function timeout(): Promise<void> {
    return expectOneRefusal(service.port, 'POST', 408, CLOSE);
  }

  it('is refused with error 408 at whatever byte it stops', async () => {
    const beginnings = [
      [],
      '\r\n',
      'PO',
      LINE,
      `${LINE}Host: plants.example\r\n${AUTHORIZATION}\r\n`,
      WITHOUT_BODY,
      message({ framing: ['Content-Length: 26'] }),
      chunkedMessage(''),
      chunkedMessage('19\r\n{'),
      chunkedMessage(`19\r\n${plant(1)}\r\n0\r\nX-More`),
    ];
    // In parallel, because each takes as long as the timeout.
    await Promise.all(beginnings.map((bytes) => expectOneRefusal(service.port, bytes, 408, CLOSE)));
    expect(await service.ids()).toEqual([]);
  });

  it.each([
    ['bytes of its headers', `${LINE}X-More: `, 'a'],
    ['bytes of its body', message({ framing: ['Content-Length: 1000000'], body: '' }), ' '],
    ['its chunks', chunkedMessage(''), '1\r\n \r\n'],
  ])('is refused with error 408 although %s continue to come', async (_what, begun, bit) => {
    const client = await RawClient.connect(service.port);
    await client.send(begun);
    // Few enough that the headers do not become too large before the timeout.
    for (let count = 0; count < 8_000 && !client.isEnded; count += 1) await client.send(bit);

    expectRefusal(await client.answer(), 408, CLOSE);
    await client.send(bit);
    await client.hangUp();
  });

  it.each([
    ['head', LINE, message().slice(LINE.length)],
    ['body', WITHOUT_BODY, plant(1) + message()],
  ])('has no effect when the rest of its %s comes after the refusal', async (_what, begun, rest) => {
    const client = await RawClient.connect(service.port);
    await client.send(begun);

    expectRefusal(await client.answer(), 408, CLOSE);
    await client.send(rest);
    await client.hangUp();
    expect(await service.ids()).toEqual([]);
  });

  it('has no effect when its rest comes while the refusal waits for the answer before it', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(message(SLOW) + LINE);
    await timeout();
    // The service reads it only after the first answer.
    await client.hand(message({ body: plant(2) }).slice(LINE.length));
    await service.settled();
    service.release();

    expectPlant(await client.answer(), 1, KEEP_ALIVE);
    expectRefusal(await client.answer(), 408, CLOSE);
    await client.hangUp();
    expect(await service.ids()).toEqual([1]);
  });

  it('is not one whose answer waits for the answer before it', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(message({ body: plant(2) }));
    expectPlant(await client.answer(), 2, KEEP_ALIVE);
    await client.send(message(SLOW) + message({ authorization: [] }));
    for (let times = 0; times < 3; times++) await timeout();
    service.release();

    expectPlant(await client.answer(), 1, KEEP_ALIVE);
    expectRefusal(await client.answer(), 401, CLOSE);
    await client.hangUp();
  });

  it('is not one of which the service has not begun to read the body', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(message({ ...SLOW, framing: ['Content-Length: 25'], body: '' }));
    for (let times = 0; times < 3; times++) await timeout();
    service.release();
    await client.send(plant(1));

    expectPlant(await client.answer(), 1, KEEP_ALIVE);
    await client.hangUp();
  });

  describe.each([
    ['half its head', LINE],
    ['half its body', message({ framing: ['Content-Length: 26'] })],
    ['half its chunks', chunkedMessage('19\r\n{')],
  ])('is not one of which %s was read before the answers to others', (_what, begun) => {
    const others = message({ ...SLOW, body: plant(1) }) + message({ body: plant(2) });

    it.each([0, 1, 3])('until its whole REQUEST_TIMEOUT has passed, after %i of them', async (times) => {
      const client = await RawClient.connect(service.port);
      await client.send(others + begun);
      for (let time = 0; time < times; time += 1) await timeout();
      const before = performance.now();
      service.release();

      for (const id of [1, 2]) expectPlant(await client.answer(), id, KEEP_ALIVE);
      expectRefusal(await client.answer(), 408, CLOSE);
      // Node's timers may be a millisecond early.
      expect(performance.now() - before).toBeGreaterThan(REQUEST_TIMEOUT - 2);
      await client.hangUp();
    });
  });
});

describe('Half the headers of a request', () => {
  const service = sharedService({ limits: { headers: 400, request: 3_600_000 } });

  it.each([
    ['a new connection', []],
    ['a connection that has had an answer', [message()]],
  ])('are refused with error 408 long before REQUEST_TIMEOUT, on %s', async (_what, before) => {
    const client = await RawClient.connect(service.port);
    for (const bytes of before) {
      await client.send(bytes);
      expectPlant(await client.answer(), 1, KEEP_ALIVE);
    }
    await client.send('POST /plants HTTP/1.1\r\nHost: ');

    expectRefusal(await client.answer(), 408, CLOSE);
    await client.hangUp();
  });
});

describe('Half the headers of a request at default limits', () => {
  const service = sharedService();

  it('are refused with error 408 after 10 seconds', async () => {
    const client = await RawClient.connect(service.port);
    await client.send('POST /plants HTTP/1.1\r\nHost: ');
    const before = performance.now();

    expectRefusal(await client.answer(), 408, CLOSE);
    const seconds = (performance.now() - before) / 1_000;
    expect(seconds).toBeGreaterThan(9);
    // Node looks for late requests once a second.
    expect(seconds).toBeLessThan(15);
    await client.hangUp();
  });
});

describe('An idle connection', () => {
  const service = sharedService({ limits: { keepAlive: 100 } });

  it('ends without an answer after KEEP_ALIVE_TIMEOUT', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(message());

    expectPlant(await client.answer(), 1, KEEP_ALIVE);
    await client.ending();
    await client.hangUp();
  });
});

describe('A request behind slow ones', () => {
  const REQUEST_TIMEOUT = 5_000;
  const service = new SlowService({ headers: 400, request: REQUEST_TIMEOUT });

  it('has its whole REQUEST_TIMEOUT from when the service reads again, and is answered if it is complete by then', async () => {
    const client = await RawClient.connect(service.port);
    const request = message({ body: plant(3) });
    await client.send(message(SLOW) + message({ body: plant(2) }) + request.slice(0, 30));
    // By then, Node has reported the half head as late, which it does once.
    for (let times = 0; times < 3; times += 1) await expectOneRefusal(service.port, 'POST', 408, CLOSE);
    const released = performance.now();
    service.release();
    for (const id of [1, 2]) expectPlant(await client.answer(), id, KEEP_ALIVE);
    await client.send(request.slice(30));

    expectPlant(await client.answer(), 3, KEEP_ALIVE);
    // Nothing on its connection is late then.
    while (performance.now() - released < REQUEST_TIMEOUT + 200)
      await expectOneRefusal(service.port, 'POST', 408, CLOSE);
    await client.send(message({ body: plant(4) }));
    expectPlant(await client.answer(), 4, KEEP_ALIVE);
    await client.hangUp();
  });
});
