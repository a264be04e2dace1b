import { Controller, Get, type INestApplication, Module, type ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ApiProperty, ApiResponse, DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { describePlants, PlantsModule } from '../../src/index.js';

/** A class of the host with a name of the contract. */
class Plant {
  @ApiProperty()
  species!: string;
}

class Error {
  @ApiProperty()
  reason!: string;
}

@Controller('catalogue')
class CatalogueController {
  @Get()
  @ApiResponse({ status: 200, type: Plant })
  @ApiResponse({ status: 404, type: Error })
  read(): Plant {
    return { species: 'Monstera deliciosa' };
  }
}

const TOKENS = { repository: 'sqlite::memory:', authentication: { tokens: ['first'] } };

describe('The OpenAPI document of a host', () => {
  let app: INestApplication;

  async function start(...imports: NonNullable<ModuleMetadata['imports']>): Promise<void> {
    @Module({ imports, controllers: [CatalogueController] })
    class GardenModule {}
    app = await NestFactory.create(GardenModule, { logger: false, abortOnError: false });
  }

  /** Returns the document without what is undefined. */
  function document(): OpenAPIObject {
    const config = new DocumentBuilder().addBearerAuth().build();
    return JSON.parse(JSON.stringify(SwaggerModule.createDocument(app, config))) as OpenAPIObject;
  }

  function operationAt(path: string) {
    return document().paths[path]?.post;
  }

  function schemas(): Record<string, unknown> {
    return document().components?.schemas ?? {};
  }

  afterEach(() => app.close());

  // The first test: the metadata stay for the process.
  it('has POST /plants with status 200 without describePlants()', async () => {
    await start(PlantsModule.forRoot(TOKENS));

    expect(operationAt('/plants')?.responses).toEqual({ 200: { description: '' } });
  });

  it('is the same when describePlants() is called twice', async () => {
    await start(PlantsModule.forRoot(TOKENS));

    await describePlants(app);
    const once = document();
    await describePlants(app);
    expect(document()).toEqual(once);
    expect(operationAt('/plants')).toMatchObject({
      operationId: 'PlantsController_create',
      tags: ['Plants'],
      security: [{ bearer: [] }],
      requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/PlantStoreNewPlant' } } } },
      responses: {
        200: {
          description: 'plant response',
          content: { 'application/json': { schema: { $ref: '#/components/schemas/PlantStorePlant' } } },
        },
        400: {
          description: 'unexpected error',
          content: { 'application/json': { schema: { $ref: '#/components/schemas/PlantStoreError' } } },
        },
      },
    });
    expect(Object.keys(operationAt('/plants')?.responses ?? {})).toEqual(['200', '400']);
  });

  it("keeps the host's own schemas Plant and Error", async () => {
    await start(PlantsModule.forRoot(TOKENS));
    await describePlants(app);

    expect(Object.keys(schemas()).sort()).toEqual([
      'Error',
      'Plant',
      'PlantStoreError',
      'PlantStoreNewPlant',
      'PlantStorePlant',
    ]);
    expect(schemas().Plant).toMatchObject({ properties: { species: { type: 'string' } }, required: ['species'] });
    expect(schemas().Error).toMatchObject({ properties: { reason: { type: 'string' } }, required: ['reason'] });
  });

  it('has schemas with the prefix of the host', async () => {
    await start(PlantsModule.forRoot(TOKENS));
    await describePlants(app, { prefix: 'Shop' });

    expect(Object.keys(schemas())).toEqual(expect.arrayContaining(['ShopError', 'ShopNewPlant', 'ShopPlant']));
  });

  it('requires a token only of the instances that do', async () => {
    await start(
      PlantsModule.forRoot({ ...TOKENS, path: 'indoor/plants', name: 'indoor' }),
      PlantsModule.forRootAsync({
        path: 'wild-plants',
        name: 'wild-growth',
        useFactory: () => ({ ...TOKENS, authentication: false as const }),
      }),
    );
    await describePlants(app);

    expect(operationAt('/indoor/plants')).toMatchObject({
      operationId: 'IndoorPlantsController_create',
      security: [{ bearer: [] }],
    });
    expect(operationAt('/wild-plants')).toMatchObject({ operationId: 'WildGrowthPlantsController_create' });
    expect(operationAt('/wild-plants')).not.toHaveProperty('security');
  });
});
