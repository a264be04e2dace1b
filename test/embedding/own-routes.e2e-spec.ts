import { Controller, Get, Module, Req, ServiceUnavailableException, UseFilters, UseGuards } from '@nestjs/common';
import {
  BearerAuthGuard,
  ContractExceptionFilter,
  PlantsModule,
  type Principal,
  principalOf,
  RequiresScope,
  TokenVerifier,
} from '../../src/index.js';
import { type Application, newAdapter, newApplication, PLATFORMS, send } from '../support/hosts/application.js';

/** Knows one token with the scope of the module and one without it. */
class GardenVerifier extends TokenVerifier {
  override verify(token: string): Principal | undefined {
    if (token === 'down') throw new ServiceUnavailableException('The garden is closed.');
    if (token === 'gardener') return { name: 'gardener', scopes: ['plants:write'] };
    return token === 'visitor' ? { name: 'visitor', scopes: [] } : undefined;
  }
}

@Controller('sheds')
@UseGuards(BearerAuthGuard)
@RequiresScope(true)
class ShedsController {
  @Get()
  list(@Req() request: { readonly user?: unknown }): object {
    return { principal: principalOf(request)?.name, user: request.user };
  }

  @Get('contract')
  @UseFilters(ContractExceptionFilter)
  contract(): object {
    return {};
  }
}

@Module({
  imports: [
    PlantsModule.forRoot({ repository: 'sqlite::memory:', authentication: { verifier: new GardenVerifier() } }),
  ],
  controllers: [ShedsController],
})
class GardenModule {}

const REALM = 'Bearer realm="plants"';
const SCOPE = `${REALM}, error="insufficient_scope", scope="plants:write"`;

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
      what: 'refuses a token without the required scope as Nest does',
      request: { path: '/sheds', token: 'visitor' },
      answer: { status: 403, body: { statusCode: 403, error: 'Forbidden' }, challenge: SCOPE },
    },
    {
      what: 'passes on what the verifier throws',
      request: { path: '/sheds', token: 'down' },
      answer: { status: 503, body: { statusCode: 503, message: 'The garden is closed.' }, challenge: null },
    },
    {
      what: 'answers as the contract does with its filter',
      request: { path: '/sheds/contract', token: null },
      answer: { status: 400, body: { error: 401 }, challenge: REALM },
    },
  ])('$what', async ({ request, answer }) => {
    expect(await send(app, { method: 'GET', ...request })).toMatchObject(answer);
  });
});
