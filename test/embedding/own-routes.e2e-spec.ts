import {
  type ArgumentsHost,
  Catch,
  Controller,
  type ExceptionFilter,
  type ExecutionContext,
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

@Controller('sheds/any')
@UseGuards(BearerAuthGuard)
class AnyTokenController {
  @Get()
  list(): object {
    return {};
  }
}

/** Passes every request, as a guard for optional authentication does. */
class OptionalGuard extends BearerAuthGuard {
  override canActivate(context: ExecutionContext): Promise<boolean> {
    return super.canActivate(context).catch(() => true);
  }
}

@Controller('sheds/again')
@UseGuards(OptionalGuard, BearerAuthGuard)
@RequiresScope()
class SecondRunController {
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
  controllers: [ShedsController, AnyTokenController, SecondRunController, StrategyController],
})
class GardenModule {}

const REALM = 'Bearer realm="plants"';
const scope = (name: string): string => `error="insufficient_scope", scope="${name}"`;

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
    await app.listen(0, '127.0.0.1');
  });

  afterAll(() => app.close());

  it.each<[what: string, path: string, token: string | null, answer: object]>([
    ['passes a valid token', '', 'gardener', { body: { principal: 'gardener', user: { name: 'gardener' } } }],
    ['refuses no token as Nest does', '', null, { body: { statusCode: 401, error: 'Unauthorized' }, challenge: REALM }],
    ['refuses a token in the query', '?access_token=gardener', null, { status: 401, challenge: REALM }],
    [
      'refuses a token without the required scope as Nest does',
      '',
      'visitor',
      { body: { statusCode: 403, error: 'Forbidden' }, challenge: `${REALM}, ${scope('garden:write')}` },
    ],
    [
      'passes a token with the scope that the route names',
      '/named',
      'visitor',
      { body: { principal: { name: 'visitor' } }, challenge: null },
    ],
    [
      'refuses a token without the scope that the route names',
      '/named',
      'gardener',
      { status: 403, challenge: `${REALM}, ${scope('sheds:read')}` },
    ],
    ['passes any valid token to a route that names no scope', '/any', 'visitor', { status: 200 }],
    ['passes a request that it has passed before', '/again', 'gardener', { status: 200 }],
    ['refuses a token that it has refused before', '/again', 'wrong', { status: 401 }],
    ['refuses a token whose scope it has refused before', '/again', 'visitor', { status: 403 }],
    ['passes on what the verifier throws', '', 'down', { status: 503, body: { message: 'The garden is closed.' } }],
    ['tells a filter why it refuses a request', '/cause', null, { body: { cause: { refused: 'missing' } } }],
    [
      'tells a filter which scope a token lacks',
      '/cause',
      'visitor',
      { body: { cause: 'the scopes are "sheds:read", required: "garden:write"' } },
    ],
    [
      'answers as the contract does with its filter',
      '/contract',
      null,
      { status: 400, body: { error: 401 }, challenge: REALM },
    ],
  ])('%s', async (_what, path, token, answer) => {
    expect(await send(app, { method: 'GET', path: `/sheds${path}`, token })).toMatchObject(answer);
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
