import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { describePlants } from '../plants/describe-plants.js';
import { PlantsModule } from '../plants/plants.module.js';

/**
 * What the code promises; contract/openapi.yaml promises the same in more words, and a test compares the two.
 *
 * @param app the public application
 * @param server where it is, its base path left out: the paths of the document have it
 */
export async function createOpenApiDocument(app: INestApplication, server?: string): Promise<OpenAPIObject> {
  await describePlants();
  const builder = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Plant Store')
    .setVersion('1.0.0')
    .setLicense('MIT', 'https://opensource.org/license/mit')
    .addSecurity('bearer', { type: 'http', scheme: 'bearer' });
  if (server !== undefined) builder.addServer(server);
  return SwaggerModule.createDocument(app, builder.build(), { autoTagControllers: false, include: [PlantsModule] });
}
