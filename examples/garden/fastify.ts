import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { GardenModule } from './garden.module.js';

const app = await NestFactory.create<NestFastifyApplication>(GardenModule, new FastifyAdapter());
app.enableShutdownHooks();
await app.listen(process.env.PORT ?? 3000, '127.0.0.1');
console.log(`The gardens are open: ${await app.getUrl()}`);
