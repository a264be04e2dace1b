/** Nest as its documentation shows it: Express, passport, ValidationPipe, TypeORM on SQLite, and pino's middleware. */
import 'reflect-metadata';
import { Body, Controller, HttpCode, Module, Post, UseGuards, ValidationPipe } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AuthGuard, PassportModule, PassportStrategy } from '@nestjs/passport';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { IsInt, IsOptional, IsString } from 'class-validator';
import { Strategy } from 'passport-http-bearer';
import { pinoHttp } from 'pino-http';
import { Column, Entity, PrimaryColumn, type Repository } from 'typeorm';

@Entity('plants')
class Plant {
  @PrimaryColumn('integer')
  id!: number;

  @Column('text')
  name!: string;

  @Column('text', { nullable: true })
  tag!: string | null;
}

class NewPlantDto {
  @IsInt()
  id!: number;

  @IsString()
  name!: string;

  @IsOptional()
  @IsString()
  tag?: string;
}

class BearerStrategy extends PassportStrategy(Strategy) {
  validate(token: string): object | false {
    return token === process.env['TOKEN'] ? { name: 'gardener' } : false;
  }
}

@Controller('plants')
class PlantsController {
  constructor(@InjectRepository(Plant) private readonly plants: Repository<Plant>) {}

  @Post()
  @HttpCode(200)
  @UseGuards(AuthGuard('bearer'))
  async create(@Body() { id, name, tag }: NewPlantDto): Promise<{ name: string; tag: string | undefined }> {
    await this.plants.insert({ id, name, tag: tag ?? null });
    return { name, tag };
  }
}

@Module({
  imports: [
    PassportModule,
    TypeOrmModule.forRoot({
      type: 'better-sqlite3',
      database: 'plants.db',
      entities: [Plant],
      synchronize: true,
      enableWAL: true,
      prepareDatabase: (database: { pragma(text: string): void }) => database.pragma('synchronous = FULL'),
    }),
    TypeOrmModule.forFeature([Plant]),
  ],
  controllers: [PlantsController],
  providers: [BearerStrategy],
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });
if (process.env['REQUEST_LOG'] !== 'off') app.use(pinoHttp());
app.useGlobalPipes(new ValidationPipe());
await app.listen(0, '127.0.0.1');
console.log(`Listening: ${await app.getUrl()}`);
