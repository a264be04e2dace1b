import { Injectable, RequestMethod } from '@nestjs/common';
import { type AbstractHttpAdapter, ApplicationConfig, HttpAdapterHost } from '@nestjs/core';
import { PLANTS_PATH } from '../../contract/plants-path.js';
import { hideBodyWhere } from './unparsed-body.js';

/** Registers the middleware of `unparsedBody` for `POST /plants`, when Nest creates this provider. */
@Injectable()
export class UnparsedBodyRegistration {
  constructor(config: ApplicationConfig, adapterHost: HttpAdapterHost) {
    // `init$` (https://docs.nestjs.com/faq/http-adapter) replays: NestFactory has set the adapter before this constructor
    // runs, and a testing module sets it later, in `createNestApplication`. In both cases the middleware precedes the body
    // parser of Express, which `app.init()` registers. A MiddlewareConsumer would register it after the parser:
    // https://github.com/nestjs/nest/blob/master/packages/core/nest-application.ts
    adapterHost.init$.subscribe(() => {
      // An application context without a server has none.
      const adapter = adapterHost.httpAdapter as AbstractHttpAdapter | null;
      adapter?.use(hideBodyWhere((path) => path === plantsPath(config)));
    });
  }
}

/** Returns the path of `POST /plants` below the global prefix, which may exclude it. RouterModule may add to it. */
function plantsPath(config: ApplicationConfig): string {
  const isExcluded = config
    .getGlobalPrefixOptions()
    .exclude?.some(({ requestMethod: method, pathRegex }) => isPost(method) && pathRegex.test(`/${PLANTS_PATH}`));
  const prefix = isExcluded ? [] : config.getGlobalPrefix().split('/').filter(Boolean);
  return ['', ...prefix, PLANTS_PATH].join('/');
}

function isPost(method: RequestMethod): boolean {
  return method === RequestMethod.POST || method === RequestMethod.ALL;
}
