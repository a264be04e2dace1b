/** The answers of one connection come in order, and whatever follows a request changes nothing about it. */
import { CLOSE, expectPlant, expectRefusal, KEEP_ALIVE } from '../support/http-answers.js';
import { chunkedMessage, message, plant } from '../support/http-messages.js';
import { RawClient } from '../support/raw-client.js';
import { SLOW, SlowService } from '../support/slow-service.js';

const GARBAGE = 'garbage\r\n\r\n';
const INCOMPLETE = { framing: ['Content-Length: 26'] };
const CONNECT = message({ line: 'CONNECT plants.example:80 HTTP/1.1' });

const service = new SlowService();

describe('A connection with a slow request', () => {
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
    ['garbage', [GARBAGE], 400],
    ['garbage in many packets', Array<string>(20).fill(GARBAGE), 400],
    ['CONNECT', [CONNECT], 400],
    ['a request without a token', [message({ authorization: [] })], 401],
    ['an invalid chunk', [chunkedMessage('x\r\n')], 400],
  ])('gets one last answer to %s behind it', async (_what, packets, error) => {
    const client = await sendAndRelease(message(SLOW), ...packets);

    expectPlant(await client.answer(), 1, KEEP_ALIVE);
    expectRefusal(await client.answer(), error, CLOSE);
    await client.hangUp();
    expect(await service.ids()).toEqual([1]);
  });
});

describe('A connection that the client resets', () => {
  it.each([
    ['in a body', message(INCOMPLETE)],
    ['in a body whose request waits', message({ ...SLOW, ...INCOMPLETE })],
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
