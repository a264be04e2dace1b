import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Configuration } from '../../config/configuration.js';
import { openRepository } from '../../storage/engines.js';
import { type Outcome, PlantRepository, type PlantSnapshot, type StoredPlant } from '../../storage/plant-repository.js';
import { openStoreSnapshot } from '../open-store.js';

/** Adds plants to a temporary SQLite file, with the outcomes that a store would have. The store stays as it is. */
export class DryRunRepository extends PlantRepository {
  private constructor(
    private readonly scratch: PlantRepository,
    private readonly stored: PlantSnapshot | undefined,
  ) {
    super();
  }

  static async open(configuration: Configuration): Promise<DryRunRepository> {
    const stored = await openStoreSnapshot(configuration.databaseUrl, configuration);
    const directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
    process.once('exit', () => rmSync(directory, { recursive: true }));
    const scratch = await openRepository(`sqlite:${join(directory, 'plants.db')}`);
    return new DryRunRepository(scratch, stored);
  }

  override async add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    const known = (await this.stored?.find(batch.map(({ id }) => id))) ?? [];
    if (known.length > 0) await this.scratch.add(known);
    return this.scratch.add(batch);
  }

  override async close(): Promise<void> {
    await this.stored?.close();
    await this.scratch.close();
  }
}
