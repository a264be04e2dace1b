import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { GardenModule } from './garden.module.js';

const app = await NestFactory.create(GardenModule);
app.enableShutdownHooks();
await app.listen(process.env.PORT ?? 3000, '127.0.0.1');
console.log(`The gardens are open: ${await app.getUrl()}`);
