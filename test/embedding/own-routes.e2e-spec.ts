import {
  Controller,
  Get,
  type INestApplication,
  Module,
  Req,
  ServiceUnavailableException,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { type AbstractHttpAdapter, NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import {
  BearerAuthGuard,
  ContractExceptionFilter,
  PlantsModule,
  type Principal,
  principalOf,
  RequiresScope,
  TokenVerifier,
} from '../../src/index.js';

/** Knows one token with the scope of the module and one without it. */
class GardenVerifier extends TokenVerifier {
  override verify(token: string): Principal | undefined {
    if (token === 'down') throw new ServiceUnavailableException('The garden is closed.');
    if (token === 'gardener') return { name: 'gardener', scopes: ['plants:write'] };
    return token === 'visitor' ? { name: 'visitor', scopes: [] } : undefined;
  }
}

@Controller('beds')
@UseGuards(BearerAuthGuard)
class BedsController {
  @Get()
  list(@Req() request: object): object {
    return { principal: principalOf(request)?.name };
  }

  @Get('keys')
  @RequiresScope(true)
  keys(): object {
    return { keys: 3 };
  }

  @Get('contract')
  @UseFilters(ContractExceptionFilter)
  contract(): object {
    return {};
  }
}

@Controller('sheds')
@UseGuards(BearerAuthGuard)
@RequiresScope(true)
class ShedsController {
  @Get()
  list(): object {
    return { sheds: 1 };
  }
}

@Module({
  imports: [PlantsModule.forRoot({ repository: 'sqlite::memory:', authentication: { verifier: GardenVerifier } })],
  controllers: [BedsController, ShedsController],
})
class GardenModule {}

const UNAUTHORIZED = {
  statusCode: 401,
  error: 'Unauthorized',
  message: 'A valid token is required: send the header "Authorization: Bearer <ACCESS_TOKEN>".',
};

describe.each<[string, () => AbstractHttpAdapter]>([
  ['Express', () => new ExpressAdapter()],
  ['Fastify', () => new FastifyAdapter()],
])("The module's guard on a host's own routes, on %s,", (_platform, adapter) => {
  let app: INestApplication;

  beforeAll(async () => {
    app = await NestFactory.create(GardenModule, adapter(), { logger: false, abortOnError: false });
    await app.listen(0, '127.0.0.1');
  });

  afterAll(() => app.close());

  it.each<[string, string, string, string | undefined, number, object, string | null]>([
    ['passes a valid token', 'beds', 'to its principal', 'gardener', 200, { principal: 'gardener' }, null],
    ['refuses', 'beds', 'without a token as Nest does', undefined, 401, UNAUTHORIZED, 'Bearer realm="plants"'],
    [
      'refuses',
      'beds/keys',
      'without the required scope as Nest does',
      'visitor',
      403,
      { statusCode: 403, error: 'Forbidden', message: 'This token lacks the scope that the operation requires.' },
      'Bearer realm="plants", error="insufficient_scope", scope="plants:write"',
    ],
    [
      'refuses',
      'sheds',
      'without the scope that the controller requires',
      'visitor',
      403,
      { statusCode: 403, error: 'Forbidden', message: 'This token lacks the scope that the operation requires.' },
      'Bearer realm="plants", error="insufficient_scope", scope="plants:write"',
    ],
    [
      'passes on',
      'beds',
      'what the verifier throws',
      'down',
      503,
      { statusCode: 503, error: 'Service Unavailable', message: 'The garden is closed.' },
      null,
    ],
    [
      'refuses',
      'beds/contract',
      "in the contract's form with its filter",
      undefined,
      400,
      { error: 401, message: UNAUTHORIZED.message },
      'Bearer realm="plants"',
    ],
  ])('%s /%s %s', async (_what, path, _how, token, status, body, challenge) => {
    const answer = await fetch(`${await app.getUrl()}/${path}`, {
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    });

    expect([answer.status, await answer.json()]).toEqual([status, body]);
    expect(answer.headers.get('www-authenticate')).toBe(challenge);
  });
});
