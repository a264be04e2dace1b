import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRepository } from '../../storage/open-repository.js';
import { type Outcome, PlantRepository, type PlantSnapshot, type StoredPlant } from '../../storage/plant-repository.js';

/** Adds plants to a temporary SQLite file, with the outcomes that a store would have. The store stays as it is. */
export class DryRunRepository extends PlantRepository {
  private constructor(
    private readonly directory: string,
    private readonly scratch: PlantRepository,
    private readonly stored: PlantSnapshot | undefined,
  ) {
    super();
  }

  /** @param stored closed with this repository; undefined if the store does not exist yet */
  static async open(stored: PlantSnapshot | undefined): Promise<DryRunRepository> {
    const directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
    const scratch = await openRepository(`sqlite:${join(directory, 'plants.db')}`);
    return new DryRunRepository(directory, scratch, stored);
  }

  override async add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    const known = (await this.stored?.find(batch.map(({ id }) => id))) ?? [];
    if (known.length > 0) await this.scratch.add(known);
    return this.scratch.add(batch);
  }

  override async close(): Promise<void> {
    await this.stored?.close();
    await this.scratch.close();
    rmSync(this.directory, { recursive: true });
  }
}
