import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { type Outcome, PlantRepository, type StoredPlant } from '../../src/storage/plant-repository.js';
import { expectPlant, KEEP_ALIVE } from '../support/http-answers.js';
import { creation, message, plant } from '../support/http-messages.js';
import { converse, RawClient } from '../support/raw-client.js';
import { startService } from '../support/service.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';

/** Together longer than one read of a socket, so that the end of one of them stays unread meanwhile. */
const COUNT = 600;

/** Stores as another repository does, after some delay. */
class SlowRepository extends PlantRepository {
  constructor(
    private readonly inner: PlantRepository,
    private readonly delay: () => Promise<unknown>,
  ) {
    super();
  }

  override async add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    await this.delay();
    return this.inner.add(batch);
  }

  override close(): Promise<void> {
    return this.inner.close();
  }
}

describe('A connection on which a further request waits', () => {
  it('is not read, although the body of the one before was', async () => {
    const sockets: Socket[] = [];
    const note = (message: unknown): void => void sockets.push((message as { socket: Socket }).socket);
    const paused: (boolean | undefined)[] = [];
    const service = await startService({
      repository: (inner) => new SlowRepository(inner, () => Promise.resolve(paused.push(sockets[0]?.isPaused()))),
    });

    subscribe('net.server.socket', note);
    await converse(service.port, message({ body: plant(1) }) + message({ body: plant(2) }), { count: 2 });
    unsubscribe('net.server.socket', note);

    await service.close();
    // While the first one is stored, and while the second one is.
    expect(paused).toEqual([true, false]);
  });
});

describe('Pipelined requests are all answered with 200', () => {
  const directory = ServiceDirectory.ofEachTest();

  it('although together they take longer than REQUEST_TIMEOUT', async () => {
    const service = await startService({
      repository: (inner) => new SlowRepository(inner, () => wait(10)),
      limits: { request: 2_000 },
    });
    const bytes = Array.from({ length: COUNT }, (_, id) => message({ body: plant(id) })).join('');

    const answers = await converse(service.port, bytes, { count: COUNT });

    for (const [id, answer] of answers.entries()) expectPlant(answer, id, KEEP_ALIVE);
    await service.close();
  });

  it('although another program locks the database for longer than REQUEST_TIMEOUT', async () => {
    const { url } = await directory.start({ ...WITH_TOKEN, REQUEST_TIMEOUT: '2s', STORE_TIMEOUT: '2m' });
    const other = directory.openDatabase();
    other.exec('BEGIN EXCLUSIVE');
    const client = await RawClient.open(url);
    client.socket.write(Array.from({ length: COUNT }, (_, id) => creation(id)).join(''));
    // Each waits for a REQUEST_TIMEOUT.
    for (let times = 0; times < 2; times += 1) {
      const late = await RawClient.open(url);
      late.socket.write('POST');
      await late.closed;
      expect(late.answers).toEqual([408]);
    }
    other.close();

    await client.answered(COUNT);
    expect(client.answers).toEqual(Array(COUNT).fill(200));
    client.socket.destroy();
  });
});
