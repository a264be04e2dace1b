import { CLOSE, expectOneRefusal, expectPlant, KEEP_ALIVE } from '../support/http-answers.js';
import { chunks, message, type Parts, plant } from '../support/http-messages.js';
import { converse, RawClient } from '../support/raw-client.js';
import { sharedService } from '../support/service.js';

const EXPECTING = ['Content-Length: 25', 'Expect: 100-continue'];

describe('A header Expect', () => {
  const service = sharedService();

  afterEach(async () => {
    expect(await service.rows()).not.toContainEqual(expect.objectContaining({ id: 9n }));
  });

  it.each([
    ['body', EXPECTING, plant(1)],
    ['body, in capitals,', ['Content-Length: 25', 'Expect: 100-CONTINUE'], plant(1)],
    ['chunks', ['Transfer-Encoding: chunked', 'Expect: 100-continue'], chunks(plant(1))],
  ])('of 100-continue gets 100 Continue before the %s', async (_what, framing, body) => {
    const client = await RawClient.connect(service.port);
    await client.send(message({ framing, body: '' }));

    expect(await client.answer()).toEqual({ statusLine: 'HTTP/1.1 100 Continue', headers: {}, body: '' });
    await client.send(body);
    expectPlant(await client.answer(), 1, KEEP_ALIVE);
    await client.hangUp();
  });

  it('of 100-continue gets 100 Continue after the answers before it', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(message({ body: plant(2) }) + message({ framing: EXPECTING, body: '' }));

    expectPlant(await client.answer(), 2, KEEP_ALIVE);
    expect((await client.answer()).statusLine).toBe('HTTP/1.1 100 Continue');
    await client.send(plant(1) + message({ body: plant(3) }));
    expectPlant(await client.answer(), 1, KEEP_ALIVE);
    expectPlant(await client.answer(), 3, KEEP_ALIVE);
    await client.hangUp();
  });

  const refusals: [number, string, Parts][] = [
    [401, 'without a token', { authorization: [] }],
    [404, 'with an unknown path', { line: 'POST /elsewhere HTTP/1.1' }],
    [413, 'with a length over the limit', { framing: ['Content-Length: 3000000', 'Expect: 100-continue'] }],
    [400, 'with an invalid Host', { host: ['Host: a b'] }],
  ];

  it.each(refusals)(
    'of 100-continue is refused with error %d %s, without 100 Continue',
    async (error, _what, parts) => {
      await expectOneRefusal(service.port, message({ framing: EXPECTING, ...parts, body: '' }), error, CLOSE);
    },
  );

  it.each(refusals.slice(0, 2))(
    'of 100-continue, sent with its body and refused with error %d %s, ends the connection',
    async (error, _what, parts) => {
      await expectOneRefusal(
        service.port,
        message({ more: ['Expect: 100-continue'], ...parts, body: plant(9) }),
        error,
        CLOSE,
      );
    },
  );

  it.each(['a-miracle', '100-continue, a-miracle', '100-continued', '"100-continue"'])(
    'of %s is refused with error 417 before the body, without 100 Continue',
    async (expectation) => {
      const bytes = message({ framing: ['Content-Length: 25', `Expect: ${expectation}`], body: '' });
      await expectOneRefusal(service.port, bytes, 417, CLOSE);
    },
  );

  it.each(refusals.slice(0, 2))('of something else is refused with error %d %s', async (error, _what, parts) => {
    await expectOneRefusal(service.port, message({ more: ['Expect: a-miracle'], ...parts, body: plant(9) }), error);
  });

  it.each<[string, Parts, Record<string, string>]>([
    ['there is no body', { framing: ['Content-Length: 0'], body: '' }, KEEP_ALIVE],
    ['the media type is another one', { type: ['Content-Type: text/plain'] }, CLOSE],
    ['the length is over the limit', { framing: ['Content-Length: 3000000'], body: '' }, CLOSE],
  ])('of something else is refused with error 417 although %s, too', async (_what, parts, headers) => {
    await expectOneRefusal(service.port, message({ more: ['Expect: a-miracle'], ...parts }), 417, headers);
  });

  it.each(['100-continue', 'a-miracle'])('of %s is ignored in HTTP/1.0', async (expectation) => {
    const bytes = message({ line: 'POST /plants HTTP/1.0', more: [`Expect: ${expectation}`] });
    const [answer] = await converse(service.port, bytes);

    expectPlant(answer, 1, CLOSE);
  });
});
