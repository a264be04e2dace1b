import { setTimeout as wait } from 'node:timers/promises';
import { type Outcome, PlantRepository, type StoredPlant } from '../../src/storage/plant-repository.js';
import { expectPlant, KEEP_ALIVE, message, plant } from '../support/http-messages.js';
import { Client, creation } from '../support/load-client.js';
import { converse } from '../support/raw-client.js';
import { startService } from '../support/service.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';

/** Together longer than one read of a socket, so that the end of one of them stays unread meanwhile. */
const COUNT = 600;

/** Stores as another repository does, on a disk whose syncs take longer. */
class SlowRepository extends PlantRepository {
  constructor(private readonly inner: PlantRepository) {
    super();
  }

  override async add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    await wait(10);
    return this.inner.add(batch);
  }

  override close(): Promise<void> {
    return this.inner.close();
  }
}

describe('Pipelined requests are all answered with 200', () => {
  const directory = ServiceDirectory.ofEachTest();

  it('although together they take longer than REQUEST_TIMEOUT', async () => {
    const service = await startService({
      repository: (inner) => new SlowRepository(inner),
      limits: { headers: 500, request: 1_000 },
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
    const client = await Client.open(url);
    client.socket.write(Array.from({ length: COUNT }, (_, id) => creation(id)).join(''));
    // Each waits for a REQUEST_TIMEOUT.
    for (let times = 0; times < 2; times += 1) {
      const late = await Client.open(url);
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
