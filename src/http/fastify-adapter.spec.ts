import { Controller, Get, type ModuleMetadata } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { ContractExceptionFilter } from '../contract/contract-exception.filter.js';
import { createFastifyAdapter, type PublicApplication } from './fastify-adapter.js';

@Controller()
class IdsController {
  @Get('ids')
  find(): object {
    return { id: 9_007_199_254_740_993n };
  }
}

async function createApplication(metadata: ModuleMetadata): Promise<PublicApplication> {
  const module = await Test.createTestingModule(metadata).compile();
  return module.createNestApplication<PublicApplication>(createFastifyAdapter({}), { logger: false });
}

describe('The adapter of the public port', () => {
  it('answers error 500 instead of an object that is no JSON', async () => {
    const app = await createApplication({ controllers: [IdsController] });
    app.useGlobalFilters(new ContractExceptionFilter(app.get(HttpAdapterHost)));
    await app.listen(0, '127.0.0.1');

    const response = await fetch(`${await app.getUrl()}/ids`);

    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: 500 });
    await app.close();
  });
});
