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
  imports: [
    PlantsModule.forRoot({ repository: 'sqlite::memory:', authentication: { verifier: new GardenVerifier() } }),
  ],
  controllers: [BedsController, ShedsController],
})
class GardenModule {}

const MESSAGE = 'A valid token is required: send the header "Authorization: Bearer <ACCESS_TOKEN>".';
const CHALLENGE = 'Bearer realm="plants"';

const UNAUTHORIZED = {
  status: 401,
  body: { statusCode: 401, error: 'Unauthorized', message: MESSAGE },
  challenge: CHALLENGE,
};

const FORBIDDEN = {
  status: 403,
  body: { statusCode: 403, error: 'Forbidden', message: 'This token lacks the scope that the operation requires.' },
  challenge: `${CHALLENGE}, error="insufficient_scope", scope="plants:write"`,
};

const CLOSED = {
  status: 503,
  body: { statusCode: 503, error: 'Service Unavailable', message: 'The garden is closed.' },
  challenge: null,
};

const OF_CONTRACT = { status: 400, body: { error: 401, message: MESSAGE }, challenge: CHALLENGE };

describe.each(PLATFORMS)("The module's guard on a host's own routes, on %s,", (platform) => {
  let app: Application;

  beforeAll(async () => {
    app = await newApplication(GardenModule, { adapter: newAdapter(platform) });
  });

  afterAll(() => app.close());

  it.each([
    { what: 'passes a valid token', path: '/beds', token: 'gardener', answer: { body: { principal: 'gardener' } } },
    { what: 'refuses no token as Nest does', path: '/beds', token: null, answer: UNAUTHORIZED },
    { what: 'refuses a token without the scope of a handler', path: '/beds/keys', token: 'visitor', answer: FORBIDDEN },
    { what: 'refuses a token without the scope of a controller', path: '/sheds', token: 'visitor', answer: FORBIDDEN },
    { what: 'passes on what the verifier throws', path: '/beds', token: 'down', answer: CLOSED },
    { what: 'answers as the contract does with its filter', path: '/beds/contract', token: null, answer: OF_CONTRACT },
  ])('$what', async ({ path, token, answer }) => {
    expect(await send(app, { method: 'GET', path, token })).toMatchObject(answer);
  });
});
