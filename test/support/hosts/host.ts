import 'reflect-metadata';
import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import {
  type ArgumentsHost,
  BadGatewayException,
  Body,
  type CallHandler,
  Catch,
  Controller,
  type DynamicModule,
  type ExceptionFilter,
  type ExecutionContext,
  ForbiddenException,
  Get,
  HttpCode,
  HttpException,
  type INestApplication,
  Injectable,
  Module,
  type NestInterceptor,
  type PipeTransform,
  Post,
  UseGuards,
  ValidationPipe,
  VersioningType,
} from '@nestjs/common';
import { HttpAdapterHost, NestFactory } from '@nestjs/core';
import { AuthGuard, PassportStrategy } from '@nestjs/passport';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { IsString } from 'class-validator';
import { Strategy } from 'passport-http-bearer';
import { PlantsController, PlantsModule } from 'plant-store';
import { catchError, map, type Observable, throwError } from 'rxjs';

/** The description of one application of this process. */
export interface Host {
  readonly platform: 'express' | 'fastify';
  /** The token of PlantsModule; without it, the application does not import PlantsModule. */
  readonly token?: string;
  readonly repository: string;
  /** True to register filter, interceptor, pipes, prefix, versioning and Nest's rawBody globally. */
  readonly global?: boolean;
}

class Word {
  @IsString()
  word!: string;
}

/** The host's own strategy `bearer`. */
@Injectable()
class HostStrategy extends PassportStrategy(Strategy) {
  validate(token: string): false | { name: string } {
    return token === 'the-token-of-the-host' && { name: 'host' };
  }
}

@Controller('own')
class OwnController {
  @Get()
  read(): object {
    return { own: true };
  }

  @Post()
  @HttpCode(201)
  write(@Body() body: Word): object {
    return { own: body };
  }

  @Get('failure')
  fail(): never {
    throw new ForbiddenException('The host refuses this.');
  }

  @Get('secret')
  @UseGuards(AuthGuard('bearer'))
  secret(): object {
    return { secret: true };
  }
}

@Module({})
class HostModule {
  static register({ token, repository }: Host): DynamicModule {
    return {
      module: HostModule,
      imports: [
        ...(token === undefined
          ? []
          : [PlantsModule.forRoot({ repository, authentication: { tokens: [token] }, body: { limit: 1_000 } })]),
      ],
      controllers: [OwnController],
      providers: [HostStrategy],
    };
  }
}

/** Answers every error in the form of the host. */
@Catch()
class HostFilter implements ExceptionFilter {
  constructor(private readonly adapterHost: HttpAdapterHost) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const status = thrown instanceof HttpException ? thrown.getStatus() : 500;
    this.adapterHost.httpAdapter.reply(host.switchToHttp().getResponse(), { host: 'failed' }, status);
  }
}

/** Wraps the results of the host's own handlers, and replaces their errors. */
class HostInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (context.getClass() === PlantsController) return next.handle();
    return next.handle().pipe(
      map((data: unknown) => ({ data })),
      catchError(() => throwError(() => new BadGatewayException())),
    );
  }
}

/** Changes every string that Nest passes to a handler. */
class HostPipe implements PipeTransform {
  transform(value: unknown): unknown {
    if (typeof value === 'string') return value.toUpperCase();
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, this.transform(member)]));
  }
}

/** Compresses an answer that is sent with one call, like the middleware `compression`. */
function compress(_request: unknown, response: ServerResponse, next: () => void): void {
  const end = response.end.bind(response) as (body: Uint8Array) => ServerResponse;
  Object.assign(response, {
    end(chunk: Uint8Array | string = '') {
      const body = gzipSync(chunk);
      response.setHeader('Content-Encoding', 'gzip').setHeader('Content-Length', body.length);
      return end(body);
    },
  });
  next();
}

/** Starts an application on a free port. */
async function start(host: Host): Promise<INestApplication<Server>> {
  const adapter = host.platform === 'express' ? new ExpressAdapter() : new FastifyAdapter();
  const app = await NestFactory.create<INestApplication<Server>>(HostModule.register(host), adapter, {
    logger: false,
    abortOnError: false,
    rawBody: host.global === true,
  });
  if (host.global === true) {
    if (adapter instanceof FastifyAdapter) {
      adapter.getInstance().addHook('onSend', async (_request, reply, payload) => {
        reply.header('Content-Encoding', 'gzip').removeHeader('Content-Length');
        return gzipSync(payload as Uint8Array | string);
      });
    } else app.use(compress);
    app.setGlobalPrefix('api');
    app.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });
    app.useGlobalFilters(new HostFilter(app.get(HttpAdapterHost)));
    app.useGlobalInterceptors(new HostInterceptor());
    app.useGlobalPipes(
      new ValidationPipe({
        whitelist: true,
        forbidNonWhitelisted: true,
        forbidUnknownValues: true,
        transform: true,
        validateCustomDecorators: true,
      }),
      new HostPipe(),
    );
  }
  await app.listen(0, '127.0.0.1');
  return app;
}

/** Starts the applications in the first argument, prints their ports, and stops them at SIGTERM. */
async function run(): Promise<void> {
  const apps = await Promise.all((JSON.parse(process.argv[2] ?? '[]') as Host[]).map(start));
  // The process must end by itself: PlantsModule may not keep it alive.
  process.once('SIGTERM', () => void Promise.all(apps.map((app) => app.close())));
  console.log(JSON.stringify(apps.map((app) => (app.getHttpServer().address() as AddressInfo).port)));
}

void run();
