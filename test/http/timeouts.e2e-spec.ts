/** A request that does not arrive in time is refused with error 408, and idle connections end. */
import { CLOSE, expectPlant, expectRefusal, KEEP_ALIVE } from '../support/http-answers.js';
import { AUTHORIZATION, chunkedMessage, message, plant } from '../support/http-messages.js';
import { converse, RawClient } from '../support/raw-client.js';
import { sharedService } from '../support/service.js';
import { SLOW, SlowService } from '../support/slow-service.js';

const LINE = 'POST /plants HTTP/1.1\r\n';
const WITHOUT_BODY = message({ framing: ['Content-Length: 25'], body: '' });

describe('A request that is too slow', () => {
  /** Long enough that a busy machine reads in time what has arrived. */
  const service = new SlowService({ request: 500 });

  /** Waits until requests that have begun before are too slow. */
  async function timeout(): Promise<void> {
    const [answer] = await converse(service.port, LINE);
    expectRefusal(answer, 408, CLOSE);
  }

  it('is refused with error 408 at whatever byte it stops', async () => {
    const beginnings = [
      '',
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
    const refusals = beginnings.map(async (beginning) => {
      const client = await RawClient.connect(service.port);
      await client.hand(beginning);
      expectRefusal(await client.answer(), 408, CLOSE);
      await client.ending();
      await client.hangUp();
    });
    await Promise.all(refusals);
    expect(await service.ids()).toEqual([]);
  });

  it('is refused with error 408 although bytes of its body continue to come', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(message({ framing: ['Content-Length: 1000000'], body: '' }));
    while (!client.isEnded) await client.send(' ');

    expectRefusal(await client.answer(), 408, CLOSE);
    client.reset();
  });

  it.each([
    ['head', LINE, message().slice(LINE.length)],
    ['body', WITHOUT_BODY, plant(1) + message()],
  ])('has no effect when the rest of its %s comes after the refusal', async (_what, begun, rest) => {
    const client = await RawClient.connect(service.port);
    await client.send(begun);

    expectRefusal(await client.answer(), 408, CLOSE);
    await client.hand(rest);
    client.finish();
    await client.closed;
    await service.settled();
    expect(await service.ids()).toEqual([]);
  });

  it('has no effect when the rest of its body comes while the refusal waits', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(message(SLOW) + WITHOUT_BODY);
    await timeout();
    await client.send(plant(2));
    await service.settled();
    service.release();

    expectPlant(await client.answer(), 1, KEEP_ALIVE);
    expectRefusal(await client.answer(), 408, CLOSE);
    await client.hangUp();
    expect(await service.ids()).toEqual([1]);
  });

  it('is not one that waits for the service', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(message(SLOW));
    for (let times = 0; times < 2; times++) await timeout();
    service.release();

    expectPlant(await client.answer(), 1, KEEP_ALIVE);
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
