import { Injectable, RequestMethod } from '@nestjs/common';
import { type AbstractHttpAdapter, ApplicationConfig, HttpAdapterHost } from '@nestjs/core';
import { PLANTS_PATH } from '../../contract/plants-path.js';
import { hideBodyWhere } from './unparsed-body.js';

/** Registers the middleware of `unparsedBody` for `POST /plants`, when Nest creates this provider. */
@Injectable()
export class UnparsedBodyRegistration {
  constructor(config: ApplicationConfig, adapterHost: HttpAdapterHost) {
    // Nest emits `init` when the application gets its adapter, before it registers its body parser in `app.init()`:
    // https://docs.nestjs.com/faq/http-adapter. It has emitted already, except in a test, which creates the application
    // from its module. Middleware of a MiddlewareConsumer would come after the parser of Express:
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
