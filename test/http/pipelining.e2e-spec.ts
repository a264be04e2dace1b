import { CLOSE, expectPlant, expectRefusal, KEEP_ALIVE } from '../support/http-answers.js';
import { chunkedMessage, message, plant } from '../support/http-messages.js';
import { converse, RawClient } from '../support/raw-client.js';
import { SLOW, SlowService } from '../support/slow-service.js';

const GARBAGE = 'garbage\r\n\r\n';
const INCOMPLETE = { framing: ['Content-Length: 26'] };
const STRANGER = { authorization: [] };
const CONNECT = message({ line: 'CONNECT plants.example:80 HTTP/1.1' });

describe('A connection with a slow request', () => {
  const service = new SlowService();

  /** Sends packets, of which the first one begins with a slow request, and then lets it be answered. */
  async function sendAndRelease(...packets: string[]): Promise<RawClient> {
    const client = await RawClient.connect(service.port);
    for (const packet of packets) await client.send(packet);
    await service.settled();
    service.release();
    return client;
  }

  it('gets its answers in order', async () => {
    const client = await sendAndRelease(message(SLOW) + message({ body: plant(2) }) + message({ body: '{' }));

    expectPlant(await client.answer(), 1, KEEP_ALIVE);
    expectPlant(await client.answer(), 2, KEEP_ALIVE);
    expectRefusal(await client.answer(), 400, KEEP_ALIVE);
    await client.hangUp();
  });

  it.each([
    ['garbage', GARBAGE, 400],
    ['CONNECT', CONNECT, 400],
    ['a request without a token', message(STRANGER), 401],
    ['a request without Host', message({ host: [] }), 400],
    ['an invalid chunk', chunkedMessage('x\r\n'), 400],
  ])('gets one last answer to %s behind it', async (_what, second, error) => {
    // It may run, but its answer would come after the last one of the connection.
    const third = message({ body: plant(3) });
    for (const packets of [[message(SLOW) + second + third], [message(SLOW), second, third]]) {
      const client = await sendAndRelease(...packets);

      expectPlant(await client.answer(), 1, KEEP_ALIVE);
      expectRefusal(await client.answer(), error, CLOSE);
      await client.hangUp();
    }
    expect((await service.ids()).filter((id) => id !== 3)).toEqual([1]);
  });

  it('gets one refusal of garbage in many packets', async () => {
    const client = await sendAndRelease(message(SLOW), ...Array<string>(20).fill(GARBAGE));

    expectPlant(await client.answer(), 1, KEEP_ALIVE);
    expectRefusal(await client.answer(), 400, CLOSE);
    await client.hangUp();
  });

  it.each([
    ['a request', message({ body: plant(2) })],
    ['half a body', message(INCOMPLETE)],
    ['garbage', GARBAGE],
    ['CONNECT', CONNECT],
  ])('and %s behind it may be reset by the client', async (_what, bytes) => {
    const client = await RawClient.connect(service.port);
    await client.send(message(SLOW) + bytes);
    await service.settled();
    client.reset();
    await client.release();
    service.release();

    const [answer] = await converse(service.port, message({ body: plant(3) }));
    expectPlant(answer, 3, KEEP_ALIVE);
  });
});

describe('A connection that the client resets', () => {
  const service = new SlowService();

  it.each([
    ['in the body', message(INCOMPLETE)],
    ['in a body that is not read', message({ ...INCOMPLETE, ...STRANGER })],
    ['in a body whose request waits', message({ ...SLOW, ...INCOMPLETE })],
    ['after 100 Continue', message({ framing: ['Content-Length: 25', 'Expect: 100-continue'], body: '' })],
    ['after CONNECT', CONNECT],
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
});
