import 'reflect-metadata';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Test } from '@nestjs/testing';
import { type Outcome, PlantRepository, type StoredPlant } from 'plant-store';
import { DataSource } from 'typeorm';
import type { Arrival } from './arrivals.js';

process.env.INDOOR_TOKEN = 'indoor-token';
process.env.OUTDOOR_TOKEN = 'outdoor-token';
// Reads the tokens when it is loaded.
const { GardenModule } = await import('./garden.module.js');

/** Stores nothing. */
class EmptyRepository extends PlantRepository {
  override add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    return Promise.resolve(batch.map(() => 'created'));
  }

  override close(): Promise<void> {
    return Promise.resolve();
  }
}

void test('A plant arrives in its garden', async () => {
  const arrivals: Partial<Arrival>[] = [];
  const module = await Test.createTestingModule({ imports: [GardenModule] })
    .overrideProvider(PlantRepository)
    .useClass(EmptyRepository)
    .overrideProvider(DataSource)
    .useValue({
      getRepository: () => ({ save: (arrival: Partial<Arrival>) => arrivals.push(arrival) }),
      destroy: () => undefined,
    })
    .compile();
  const app = module.createNestApplication();
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  const create = async (garden: string, token: string): Promise<unknown> => {
    const answer = await fetch(`${url}/${garden}/plants`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{"id": 1, "name": "Monstera"}',
    });
    return answer.json();
  };

  assert.deepEqual(await create('indoor', 'indoor-token'), { name: 'Monstera' });
  assert.match(JSON.stringify(await create('outdoor', 'indoor-token')), /"error":401/);
  await app.close();
  assert.deepEqual(arrivals, [{ garden: 'indoor', name: 'Monstera' }]);
});
