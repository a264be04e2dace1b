import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { PlantsModule } from 'plant-store';

@Module({
  imports: [
    PlantsModule.forRoot({
      repository: 'sqlite:plants.db',
      authentication: { tokens: [process.env.PLANT_TOKEN ?? ''] },
    }),
  ],
})
class GardenModule {}

const app = await NestFactory.create(GardenModule);
app.enableShutdownHooks();
await app.listen(process.env.PORT ?? 3000, '127.0.0.1');
console.log(`The garden is open: ${await app.getUrl()}`);
