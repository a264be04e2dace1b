import { Test } from '@nestjs/testing';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { describePlants } from '../../src/plants/describe-plants.js';
import { PlantsModule } from '../../src/plants/plants.module.js';

/** Derives the OpenAPI document from the code, as an embedding application does. */
export async function deriveDocument(): Promise<OpenAPIObject> {
  const testing = await Test.createTestingModule({
    imports: [PlantsModule.forRoot({ repository: 'sqlite::memory:', authentication: { tokens: ['a-token'] } })],
  }).compile();
  const app = testing.createNestApplication();
  await describePlants(app, { prefix: '' });
  const builder = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Plant Store')
    .setVersion('1.0.0')
    .setLicense('MIT', 'https://opensource.org/license/mit')
    .addSecurity('bearer', { type: 'http', scheme: 'bearer' });
  const document = SwaggerModule.createDocument(app, builder.build(), {
    autoTagControllers: false,
    operationIdFactory: () => 'createPlant',
  });
  await app.close();
  return document;
}
