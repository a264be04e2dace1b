/**
 * Nest by the book, with the packages that Plant Store is built from, a group commit, and nothing else: Fastify and its
 * logger, AuthGuard with passport-http-bearer, ValidationPipe. It keeps neither the contract's errors nor exact ids.
 */
import 'reflect-metadata';
import { createHash, timingSafeEqual } from 'node:crypto';
import { Body, Controller, HttpCode, Injectable, Module, Post, UseGuards, ValidationPipe } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AuthGuard, PassportModule, PassportStrategy } from '@nestjs/passport';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import Database from 'better-sqlite3';
import { IsInt, IsOptional, IsString } from 'class-validator';
import { Strategy } from 'passport-http-bearer';
import { destination } from 'pino';

class NewPlantDto {
  @IsInt()
  id!: number;

  @IsString()
  name!: string;

  @IsOptional()
  @IsString()
  tag?: string;
}

interface PendingPlant {
  readonly plant: NewPlantDto;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Stores the plants that arrive in one turn of the event loop in one transaction. */
@Injectable()
class PlantsService {
  readonly #database = new Database('plants.db');
  readonly #insert;
  #queue: PendingPlant[] = [];

  constructor() {
    for (const setting of [
      'journal_mode = WAL',
      'synchronous = FULL',
      'wal_autocheckpoint = 2000',
      'cache_size = -4096',
    ]) {
      this.#database.pragma(setting);
    }
    this.#database.exec('CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT) STRICT');
    this.#insert = this.#database.prepare(
      'INSERT INTO plants (id, name, tag) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING',
    );
  }

  create(plant: NewPlantDto): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#queue.length === 0) setImmediate(() => this.#commit());
      this.#queue.push({ plant, resolve, reject });
    });
  }

  #commit(): void {
    const batch = this.#queue;
    this.#queue = [];
    try {
      this.#database
        .transaction(() => {
          for (const { id, name, tag = null } of batch.map(({ plant }) => plant)) this.#insert.run(id, name, tag);
        })
        .immediate();
      for (const { resolve } of batch) resolve();
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}

const DIGEST = digestOf(process.env['TOKEN'] ?? '');

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

@Injectable()
class BearerStrategy extends PassportStrategy(Strategy) {
  validate(token: string): object | false {
    return timingSafeEqual(digestOf(token), DIGEST) ? { name: 'gardener' } : false;
  }
}

@Controller('plants')
class PlantsController {
  constructor(private readonly plants: PlantsService) {}

  @Post()
  @HttpCode(200)
  @UseGuards(AuthGuard('bearer'))
  async create(@Body() plant: NewPlantDto): Promise<{ name: string; tag: string | undefined }> {
    await this.plants.create(plant);
    return { name: plant.name, tag: plant.tag };
  }
}

@Module({
  imports: [PassportModule],
  controllers: [PlantsController],
  providers: [PlantsService, BearerStrategy],
})
class AppModule {}

const app = await NestFactory.create<NestFastifyApplication>(
  AppModule,
  new FastifyAdapter({ logger: { stream: destination({ sync: false, minLength: 8_192 }) } }),
  { logger: ['error', 'warn'] },
);
app.useGlobalPipes(new ValidationPipe());
await app.listen(0, '127.0.0.1');
console.log(`Listening: ${await app.getUrl()}`);
