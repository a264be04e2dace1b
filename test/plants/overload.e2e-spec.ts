import { create, created } from '../support/client.js';
import { chunkedMessage, chunks, creation } from '../support/http-messages.js';
import { RawClient } from '../support/raw-client.js';
import { sharedService } from '../support/service.js';
import { until } from '../support/until.js';

/** Returns the number that have an answer. */
function answeredOf(clients: readonly RawClient[]): number {
  return clients.filter(({ answers }) => answers.length > 0).length;
}

describe('POST /plants', () => {
  const service = sharedService();

  /** Creates a plant of 1 MB, for which there is no room if the service still counts the bodies that were refused. */
  async function expectRoom(): Promise<void> {
    const name = 'n'.repeat(1_000_000);
    expect(await create(service.url, { id: 3, name })).toEqual(created(name));
  }

  afterEach(() => service.store.query('DELETE FROM plants'));

  it('refuses bodies beyond 64 MiB with error 503 before it reads them, and none when these are answered', async () => {
    const clients = await Promise.all(Array.from({ length: 80 }, () => RawClient.open(service.url)));
    // Without its last byte, so that the service has to keep the body.
    const large = creation(1, 1_000_000);
    for (const { socket } of clients) socket.write(large.slice(0, -1));
    await until('13 are refused', () => answeredOf(clients) === 13);
    const [accepted, refused] = [false, true].map((isRefused) =>
      clients.filter(({ answers }) => answers.length > 0 === isRefused),
    ) as [RawClient[], RawClient[]];

    for (const { received } of refused) expect(received).toMatch(/\r\nRetry-After: 1\r\n[^]*\{"error":503,/i);
    for (const { socket } of accepted) socket.write(large.slice(-1));
    await Promise.all(accepted.map((client) => client.answered(1)));
    expect(accepted.map(({ answers }) => answers)).toEqual(accepted.map(() => [200]));
    expect(await create(service.url)).toMatchObject({ body: { error: 409 } });
    for (const { socket } of clients) socket.destroy();
  });

  it('refuses no body when clients have disconnected in the middle of theirs', async () => {
    const clients = await Promise.all(Array.from({ length: 67 }, () => RawClient.open(service.url)));
    for (const { socket } of clients) socket.write(creation(2, 1_000_000).slice(0, -1));
    for (const { socket } of clients) socket.end();
    await Promise.all(clients.map(({ closed }) => closed));

    await expectRoom();
  });

  it('refuses no body when others were too large', async () => {
    const tooLarge = chunkedMessage(chunks(...Array<string>(11).fill(' '.repeat(100_000))));
    for (let count = 0; count < 70; count += 1) {
      const client = await RawClient.open(service.url);
      client.socket.write(tooLarge);
      await client.answered(1);
      expect(client.received).toContain('{"error":413,');
      client.socket.destroy();
    }

    await expectRoom();
  });
});
