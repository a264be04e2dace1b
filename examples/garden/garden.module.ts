import { type DynamicModule, Module } from '@nestjs/common';
import { PlantsModule, type PlantsModuleOptions } from 'plant-store';
import { Arrivals, ArrivalsModule, DATABASE_URL } from './arrivals.js';

const { INDOOR_TOKEN, OUTDOOR_TOKEN } = process.env;

/** A Plant Store with a path, a token and a schema of its own. */
function garden(name: string, token = ''): DynamicModule {
  return PlantsModule.forRootAsync({
    name,
    path: `${name}/plants`,
    imports: [ArrivalsModule],
    // Arrivals needs the DataSource, whose migration makes the schemas before the Plant Store opens them.
    inject: [Arrivals],
    useFactory: (arrivals: Arrivals): PlantsModuleOptions => ({
      repository: inSchema(name),
      authentication: { tokens: [token] },
      onPlantCreated: (plant) => arrivals.note(name, plant.name),
    }),
  });
}

function inSchema(schema: string): string {
  const url = new URL(DATABASE_URL);
  url.searchParams.set('options', `-csearch_path=${schema}`);
  return url.href;
}

@Module({
  imports: [ArrivalsModule, garden('indoor', INDOOR_TOKEN), garden('outdoor', OUTDOOR_TOKEN)],
})
export class GardenModule {}
