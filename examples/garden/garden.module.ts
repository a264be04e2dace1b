import { type DynamicModule, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { PlantsModule, type PlantsModuleOptions } from 'plant-store';
import { Arrival, Arrivals, ArrivalsModule, CreateTables1790000000000 } from './arrivals.js';

const { DATABASE_URL = 'postgres://postgres@localhost/garden', INDOOR_TOKEN, OUTDOOR_TOKEN } = process.env;

/** A Plant Store with a path, a token and a schema of its own. */
function garden(name: string, token = ''): DynamicModule {
  return PlantsModule.forRootAsync({
    name,
    path: `${name}/plants`,
    imports: [ArrivalsModule],
    // Arrivals needs TypeORM, which makes the schemas before the Plant Store opens them.
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
  imports: [
    TypeOrmModule.forRoot({
      type: 'postgres',
      url: DATABASE_URL,
      entities: [Arrival],
      migrations: [CreateTables1790000000000],
      migrationsRun: true,
    }),
    ArrivalsModule,
    garden('indoor', INDOOR_TOKEN),
    garden('outdoor', OUTDOOR_TOKEN),
  ],
})
export class GardenModule {}
