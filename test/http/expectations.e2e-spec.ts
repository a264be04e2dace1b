import {
  chunks,
  CLOSE,
  expectPlant,
  expectOneRefusal,
  expectRefusal,
  KEEP_ALIVE,
  message,
  type Parts,
  plant,
} from '../support/http-messages.js';
import { converse, everyConnectionIsClosed, RawClient } from '../support/raw-client.js';
import { type Service, startService } from '../support/service.js';

afterAll(everyConnectionIsClosed);

describe('A header Expect', () => {
  const EXPECTING = ['Content-Length: 25', 'Expect: 100-continue'];
  let service: Service;

  beforeAll(async () => {
    service = await startService();
  });

  afterAll(() => service.close());

  async function expectNothingStored(): Promise<void> {
    expect(await service.rows()).not.toContainEqual(expect.objectContaining({ id: 9n }));
  }

  it.each<[string, Parts]>([
    ['of 100-continue', { framing: EXPECTING }],
    ['of 100-continue in mixed case', { framing: ['Content-Length: 25', 'eXPECT: 100-Continue'] }],
  ])('%s gets 100 Continue before the body', async (_what, parts) => {
    const client = await RawClient.connect(service.port);
    await client.send(message({ ...parts, body: '' }));

    expect(await client.answer()).toEqual({ statusLine: 'HTTP/1.1 100 Continue', headers: {}, body: '' });
    await client.send(plant(1));
    expectPlant(await client.answer(), 1, KEEP_ALIVE);
    expect(await client.hangUp()).toBe('FIN');
    expect(await service.rows()).toContainEqual({ id: 1n, name: 'Plant 1', tag: null });
  });

  it('of 100-continue gets 100 Continue before the chunks', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(message({ framing: ['Transfer-Encoding: chunked', 'Expect: 100-continue'], body: '' }));

    expect((await client.answer()).statusLine).toBe('HTTP/1.1 100 Continue');
    await client.send(chunks(plant(1)));
    expectPlant(await client.answer(), 1, KEEP_ALIVE);
    expect(await client.hangUp()).toBe('FIN');
  });

  it.each<[number, string, Parts]>([
    [401, 'without a token', { authorization: [] }],
    [401, 'with an invalid token', { authorization: ['Authorization: Bearer none'] }],
    [404, 'with an unknown path', { line: 'POST /elsewhere HTTP/1.1' }],
    [405, 'with another method', { line: 'PUT /plants HTTP/1.1' }],
    [415, 'with another media type', { type: ['Content-Type: text/plain'] }],
    [413, 'with a length over the limit', { framing: ['Content-Length: 3000000', 'Expect: 100-continue'] }],
    [400, 'with an invalid Host', { host: ['Host: a b'] }],
  ])('of 100-continue is refused with error %d %s, without 100 Continue', async (error, _what, parts) => {
    const bytes = message({ framing: EXPECTING, ...parts, body: '' });
    await expectOneRefusal(service.port, bytes, error, CLOSE);
    await expectNothingStored();
  });

  it.each(['200-ok', 'a-miracle', '100-continue, a-miracle', '100-continued', 'x100-continue', '"100-continue"'])(
    'of %s is refused with error 417, without 100 Continue',
    async (expectation) => {
      const bytes = message({ more: [`Expect: ${expectation}`], body: plant(9) });
      await expectOneRefusal(service.port, bytes, 417);
      await expectNothingStored();
    },
  );

  it('of something else is refused before the body', async () => {
    const bytes = message({ framing: ['Content-Length: 25', 'Expect: a-miracle'], body: '' });
    const { answers, ending } = await converse(service.port, bytes);

    expectRefusal(answers[0], 417, CLOSE);
    expect(ending).toBe('FIN');
  });

  it.each<[number, string, Parts]>([
    [401, 'without a token', { authorization: [] }],
    [404, 'with an unknown path', { line: 'POST /elsewhere HTTP/1.1' }],
    [405, 'with another method', { line: 'PUT /plants HTTP/1.1' }],
  ])('of something else is refused with error %d %s', async (error, _what, parts) => {
    const { answers } = await converse(
      service.port,
      message({ more: ['Expect: a-miracle'], ...parts, body: plant(9) }),
    );

    expectRefusal(answers[0], error);
  });

  it.each(['100-continue', 'a-miracle'])('of %s is ignored in HTTP/1.0', async (expectation) => {
    const bytes = message({ line: 'POST /plants HTTP/1.0', more: [`Expect: ${expectation}`] });
    const { answers, ending } = await converse(service.port, bytes);

    expectPlant(answers[0], 1, CLOSE);
    expect(answers).toHaveLength(1);
    expect(ending).toBe('FIN');
  });

  it.each<[number, string, Parts]>([
    [401, 'with an invalid token', { authorization: ['Authorization: Bearer none'] }],
    [404, 'with an unknown path', { line: 'POST /elsewhere HTTP/1.1' }],
    [415, 'with another media type', { type: ['Content-Type: text/plain'] }],
  ])(
    'of 100-continue, sent with its body and refused with error %d %s, ends the connection',
    async (error, _, parts) => {
      const client = await RawClient.connect(service.port);
      await client.send(
        message({ more: ['Expect: 100-continue'], ...parts, body: plant(9) }) + message({ body: plant(9) }),
      );

      expectRefusal(await client.answer(), error, CLOSE);
      expect(await client.hangUp()).toBe('FIN');
      await expectNothingStored();
    },
  );

  it('of 100-continue gets 100 Continue after the answers before it', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(message({ body: plant(2) }) + message({ framing: EXPECTING, body: '' }));

    expectPlant(await client.answer(), 2, KEEP_ALIVE);
    expect((await client.answer()).statusLine).toBe('HTTP/1.1 100 Continue');
    await client.send(plant(1) + message({ body: plant(3) }));
    expectPlant(await client.answer(), 1, KEEP_ALIVE);
    expectPlant(await client.answer(), 3, KEEP_ALIVE);
    expect(await client.hangUp()).toBe('FIN');
  });
});
