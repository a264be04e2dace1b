import {
  type ArgumentsHost,
  Catch,
  Controller,
  type ExceptionFilter,
  ForbiddenException,
  Get,
  Global,
  type HttpException,
  Module,
  Req,
  ServiceUnavailableException,
  UnauthorizedException,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { AuthGuard, PassportModule } from '@nestjs/passport';
import {
  BearerAuthGuard,
  ContractExceptionFilter,
  CurrentPrincipal,
  PlantsModule,
  type Principal,
  principalOf,
  RequiresScope,
  TokenVerifier,
} from '../../src/index.js';
import { type Application, newAdapter, newApplication, PLATFORMS, send } from '../support/hosts/application.js';

/** Knows one token with the scope that the module's options name and one without it. */
class GardenVerifier extends TokenVerifier {
  override verify(token: string): Principal | undefined {
    if (token === 'down') throw new ServiceUnavailableException('The garden is closed.');
    if (token === 'gardener') return { name: 'gardener', scopes: ['garden:write'] };
    return token === 'visitor' ? { name: 'visitor', scopes: ['sheds:read'] } : undefined;
  }
}

/** Answers with the reason of a refusal. */
@Catch(UnauthorizedException, ForbiddenException)
class CauseFilter implements ExceptionFilter {
  constructor(private readonly adapterHost: HttpAdapterHost) {}

  catch({ cause }: HttpException, host: ArgumentsHost): void {
    this.adapterHost.httpAdapter.reply(host.switchToHttp().getResponse(), { cause }, 401);
  }
}

@Controller('sheds')
@UseGuards(BearerAuthGuard)
@RequiresScope()
class ShedsController {
  @Get()
  list(@Req() request: { readonly user?: unknown }): object {
    return { principal: principalOf(request)?.name, user: request.user };
  }

  @Get('named')
  @RequiresScope('sheds:read')
  named(@CurrentPrincipal() principal: Principal | undefined): object {
    return { principal };
  }

  @Get('cause')
  @UseFilters(CauseFilter)
  cause(): object {
    return {};
  }

  @Get('contract')
  @UseFilters(ContractExceptionFilter)
  contract(): object {
    return {};
  }
}

@Controller('paths')
@UseGuards(BearerAuthGuard)
class PathsController {
  @Get()
  list(): object {
    return {};
  }
}

/** Uses the strategy of the module without its guard, as a host should not do. */
@Controller('strategy')
@UseGuards(AuthGuard('plant-store-bearer'))
class StrategyController {
  @Get()
  user(@Req() { user }: { readonly user?: unknown }): object {
    return { user };
  }
}

@Module({
  imports: [
    PlantsModule.forRoot({
      repository: 'sqlite::memory:',
      authentication: { verifier: new GardenVerifier() },
      scope: 'garden:write',
    }),
  ],
  controllers: [ShedsController, PathsController, StrategyController],
})
class GardenModule {}

const REALM = 'Bearer realm="plants"';
const SCOPE = `${REALM}, error="insufficient_scope", scope="garden:write"`;

/** Registers a place for the user of its own guards, for all modules. */
@Global()
@Module({ imports: [PassportModule.register({ property: 'principal' })], exports: [PassportModule] })
class PassportOfHostModule {}

@Module({ imports: [PassportOfHostModule, GardenModule] })
class GardenWithPassportModule {}

describe.each(PLATFORMS)(
  "The module's guard beside a host's PassportModule with another property, on %s,",
  (platform) => {
    it.each(['/sheds', '/plants'])('refuses a stranger, and passes a valid token: %s', async (path) => {
      const app = await newApplication(GardenWithPassportModule, { adapter: newAdapter(platform) });
      const method = path === '/plants' ? 'POST' : 'GET';
      const error = path === '/plants' ? { status: 400, body: { error: 401 } } : { status: 401 };

      expect(await send(app, { path, token: null, method })).toMatchObject(error);
      expect(await send(app, { path, token: 'wrong', method })).toMatchObject(error);
      expect(await send(app, { path, token: 'gardener', method })).toMatchObject({ status: 200 });
      await app.close();
    });
  },
);

describe.each(PLATFORMS)("The module's guard on a host's own routes, on %s,", (platform) => {
  let app: Application;

  beforeAll(async () => {
    app = await newApplication(GardenModule, { adapter: newAdapter(platform) });
  });

  afterAll(() => app.close());

  it.each([
    {
      what: 'passes a valid token',
      request: { path: '/sheds', token: 'gardener' },
      answer: { status: 200, body: { principal: 'gardener', user: { name: 'gardener' } }, challenge: null },
    },
    {
      what: 'refuses no token as Nest does',
      request: { path: '/sheds', token: null },
      answer: { status: 401, body: { statusCode: 401, error: 'Unauthorized' }, challenge: REALM },
    },
    {
      what: 'refuses a token in the query',
      request: { path: '/sheds?access_token=gardener', token: null },
      answer: { status: 401, challenge: REALM },
    },
    {
      what: 'refuses a token without the required scope as Nest does',
      request: { path: '/sheds', token: 'visitor' },
      answer: { status: 403, body: { statusCode: 403, error: 'Forbidden' }, challenge: SCOPE },
    },
    {
      what: 'passes a token with the scope that the route names',
      request: { path: '/sheds/named', token: 'visitor' },
      answer: { status: 200, body: { principal: { name: 'visitor' } }, challenge: null },
    },
    {
      what: 'refuses a token without the scope that the route names',
      request: { path: '/sheds/named', token: 'gardener' },
      answer: { status: 403, challenge: `${REALM}, error="insufficient_scope", scope="sheds:read"` },
    },
    {
      what: 'passes any valid token to a route that names no scope',
      request: { path: '/paths', token: 'visitor' },
      answer: { status: 200 },
    },
    {
      what: 'passes on what the verifier throws',
      request: { path: '/sheds', token: 'down' },
      answer: { status: 503, body: { statusCode: 503, message: 'The garden is closed.' }, challenge: null },
    },
    {
      what: 'tells a filter why it refuses a request',
      request: { path: '/sheds/cause', token: null },
      answer: { body: { cause: { refused: 'missing' } } },
    },
    {
      what: 'tells a filter which scope a token lacks',
      request: { path: '/sheds/cause', token: 'visitor' },
      answer: { body: { cause: 'the scopes are "sheds:read", required: "garden:write"' } },
    },
    {
      what: 'answers as the contract does with its filter',
      request: { path: '/sheds/contract', token: null },
      answer: { status: 400, body: { error: 401 }, challenge: REALM },
    },
  ])('$what', async ({ request, answer }) => {
    expect(await send(app, { method: 'GET', ...request })).toMatchObject(answer);
  });

  // Without the guard, the strategy finds no verifier.
  it.each(['/strategy', '/strategy?access_token=gardener'])('is the only one for its strategy: %s', async (path) => {
    expect(await send(app, { method: 'GET', path, token: 'gardener' })).toMatchObject({ status: 401 });
  });
});

describe("The module's guard with authentication: false", () => {
  it('passes every request, without a principal', async () => {
    @Module({
      imports: [PlantsModule.forRoot({ repository: 'sqlite::memory:', authentication: false })],
      controllers: [ShedsController],
    })
    class OpenModule {}
    const app = await newApplication(OpenModule);

    for (const token of [null, 'gardener']) {
      const { status, body } = await send(app, { method: 'GET', path: '/sheds', token });
      expect([status, body]).toEqual([200, {}]);
    }
    await app.close();
  });
});
