import { numberTokens, StaticTokens } from '../../src/auth/static-tokens.js';
import { create, CREATED, monstera, SECOND_TOKEN, TOKEN } from '../support/client.js';
import {
  chunkedMessage,
  chunks,
  CLOSE,
  expectPlant,
  expectRefusal,
  KEEP_ALIVE,
  message,
  plant,
} from '../support/http-messages.js';
import { RawClient } from '../support/raw-client.js';
import { type Service, startService } from '../support/service.js';

let service: Service;

beforeEach(async () => {
  service = await startService({ verifier: new StaticTokens(numberTokens([TOKEN, SECOND_TOKEN])) });
});

afterEach(() => service.close());

describe('A client that sends the beginnings of many bodies and stops', () => {
  it('leaves room for other principals, and is refused with error 408 after a few seconds', async () => {
    const clients = await RawClient.connectMany(1_030, service.port);
    const beginning = message({ framing: ['Content-Length: 25'], body: '{' });
    await Promise.all(clients.map((client) => client.send(beginning)));

    expect(await create(service.url, monstera(1), SECOND_TOKEN)).toEqual(CREATED);
    const errors = await Promise.all(
      clients.map(async (client) => (JSON.parse((await client.answer()).body) as { error: number }).error),
    );
    expect(new Set(errors)).toEqual(new Set([408, 503]));
    expect(await create(service.url, monstera(2))).toEqual(CREATED);
    for (const client of clients) await client.hangUp();
  });
});

describe('A body that comes at less than 1 KiB a second', () => {
  it('is refused with error 408, however long it is', async () => {
    const beginnings = [
      message({ framing: ['Content-Length: 25'], body: '' }),
      message({ framing: ['Content-Length: 1000000'], body: '{'.padEnd(4_000) }),
      chunkedMessage(chunks('{').slice(0, -5)),
    ];
    const clients = await RawClient.connectMany(beginnings.length, service.port);
    for (const [index, client] of clients.entries()) await client.send(beginnings[index] ?? '');

    for (const client of clients) {
      expectRefusal(await client.answer(), 408, CLOSE);
      expect(await client.hangUp()).toBe('FIN');
    }
    expect(await service.rows()).toEqual([]);
  });

  it('is read if it is complete before the fifth second, or comes fast enough on average', async () => {
    const [other, quick, slow] = await RawClient.connectMany(3, service.port);
    const long = `${' '.repeat(12_000)}${plant(2)}`;
    await quick?.send(message({ framing: ['Content-Length: 25'], body: '{' }));
    await slow?.send(message({ framing: [`Content-Length: ${long.length}`], body: long.slice(0, 11_000) }));
    await quick?.send(plant(1).slice(1));
    if (quick) expectPlant(await quick.answer(), 1, KEEP_ALIVE);
    // Takes five seconds, and is thus a clock for the other body.
    await other?.send(message({ framing: ['Content-Length: 25'], body: '' }));
    if (other) expectRefusal(await other.answer(), 408, CLOSE);
    await slow?.send(long.slice(11_000));

    if (slow) expectPlant(await slow.answer(), 2, KEEP_ALIVE);
    for (const client of [other, quick, slow]) await client?.hangUp();
  });
});
