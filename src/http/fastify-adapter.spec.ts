import { Controller, Get } from '@nestjs/common';
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

describe('The adapter of the public port', () => {
  it('answers error 500 instead of an object that is no JSON', async () => {
    const module = await Test.createTestingModule({ controllers: [IdsController] }).compile();
    const app = module.createNestApplication<PublicApplication>(createFastifyAdapter({}), { logger: false });
    app.useGlobalFilters(new ContractExceptionFilter(app.get(HttpAdapterHost)));
    await app.listen(0, '127.0.0.1');

    const response = await fetch(`${await app.getUrl()}/ids`);

    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: 500 });
    await app.close();
  });
});
