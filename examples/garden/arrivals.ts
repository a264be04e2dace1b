import { Controller, Get, Injectable, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Column, DataSource, Entity, type MigrationInterface, PrimaryGeneratedColumn, type QueryRunner } from 'typeorm';

export const { DATABASE_URL = 'postgres://postgres@localhost/garden' } = process.env;

/** A plant that arrived in a garden. The application's own table has the same name as those of Plant Store. */
@Entity('plants')
export class Arrival {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column({ type: 'varchar' })
  garden!: string;

  @Column({ type: 'varchar' })
  name!: string;
}

/** Makes the application's table, and a schema for the tables of each Plant Store. */
export class CreateTables1790000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE TABLE plants (id serial PRIMARY KEY, garden varchar NOT NULL, name varchar NOT NULL)');
    await runner.query('CREATE SCHEMA IF NOT EXISTS indoor');
    await runner.query('CREATE SCHEMA IF NOT EXISTS outdoor');
  }

  // Keeps the schemas, which contain the plants.
  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE plants');
  }
}

@Injectable()
export class Arrivals implements OnApplicationShutdown {
  constructor(private readonly dataSource: DataSource) {}

  async note(garden: string, name: string): Promise<void> {
    await this.dataSource.getRepository(Arrival).save({ garden, name });
  }

  list(): Promise<Arrival[]> {
    return this.dataSource.getRepository(Arrival).find({ order: { id: 'ASC' } });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.dataSource.destroy();
  }
}

@Controller('arrivals')
export class ArrivalsController {
  constructor(private readonly arrivals: Arrivals) {}

  @Get()
  async list(): Promise<string[]> {
    return (await this.arrivals.list()).map(({ garden, name }) => `${garden}: ${name}`);
  }
}

@Module({
  controllers: [ArrivalsController],
  providers: [
    Arrivals,
    {
      provide: DataSource,
      useFactory: () =>
        new DataSource({
          type: 'postgres',
          url: DATABASE_URL,
          entities: [Arrival],
          migrations: [CreateTables1790000000000],
          migrationsRun: true,
        }).initialize(),
    },
  ],
  exports: [Arrivals],
})
export class ArrivalsModule {}
