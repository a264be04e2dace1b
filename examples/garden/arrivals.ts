import { Controller, Get, Injectable, Module } from '@nestjs/common';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { Column, Entity, type MigrationInterface, PrimaryGeneratedColumn, type QueryRunner, Repository } from 'typeorm';

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
    await runner.query('CREATE SCHEMA indoor');
    await runner.query('CREATE SCHEMA outdoor');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE plants');
  }
}

@Injectable()
export class Arrivals {
  constructor(@InjectRepository(Arrival) private readonly repository: Repository<Arrival>) {}

  async note(garden: string, name: string): Promise<void> {
    await this.repository.save({ garden, name });
  }

  list(): Promise<Arrival[]> {
    return this.repository.find({ order: { id: 'ASC' } });
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
  imports: [TypeOrmModule.forFeature([Arrival])],
  controllers: [ArrivalsController],
  providers: [Arrivals],
  exports: [Arrivals],
})
export class ArrivalsModule {}
