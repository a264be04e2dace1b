import { Injectable, RequestMethod } from '@nestjs/common';
import { type AbstractHttpAdapter, ApplicationConfig, HttpAdapterHost } from '@nestjs/core';
import { PLANTS_PATH } from '../../contract/plants-path.js';
import { hideBodyWhere } from './unparsed-body.js';

/** How a router compares paths. */
interface Routing {
  readonly caseSensitive: boolean;
  readonly ignoreTrailingSlash: boolean;
}

/** Fastify's application, as far as it is used here: https://fastify.dev/docs/latest/Reference/Server/#initialconfig */
interface Fastify {
  readonly initialConfig: Partial<Routing> & { readonly routerOptions?: Partial<Routing> };
}

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
      adapter?.use(hideBodyWhere((path) => isPlantsPath(path, config, adapter)));
    });
  }
}

/**
 * Returns whether the application's router takes a path for that of `POST /plants`. It knows the global prefix and its
 * exclusions, but not what RouterModule adds.
 */
function isPlantsPath(path: string, config: ApplicationConfig, adapter: AbstractHttpAdapter): boolean {
  const { caseSensitive, ignoreTrailingSlash } = routingOf(adapter);
  const normalize = (text: string): string => {
    const trimmed = ignoreTrailingSlash && text.endsWith('/') ? text.slice(0, -1) : text;
    return caseSensitive ? trimmed : trimmed.toLowerCase();
  };
  return normalize(path) === normalize(plantsPath(config));
}

function plantsPath(config: ApplicationConfig): string {
  const prefix = config.getGlobalPrefix().split('/').filter(Boolean);
  const { exclude = [] } = config.getGlobalPrefixOptions();
  const isExcluded = exclude.some(
    ({ requestMethod, pathRegex }) =>
      [RequestMethod.ALL, RequestMethod.POST].includes(requestMethod) && pathRegex.test(`/${PLANTS_PATH}`),
  );
  return ['', ...(isExcluded ? [] : prefix), PLANTS_PATH].join('/');
}

function routingOf(adapter: AbstractHttpAdapter): Routing {
  if (adapter.getType() === 'express') {
    // https://expressjs.com/en/5x/api.html#app.settings.table
    const app = adapter.getInstance<{ enabled(setting: string): boolean }>();
    return {
      caseSensitive: app.enabled('case sensitive routing'),
      ignoreTrailingSlash: !app.enabled('strict routing'),
    };
  }
  const { routerOptions, ...options } = adapter.getInstance<Partial<Fastify>>().initialConfig ?? {};
  return {
    caseSensitive: routerOptions?.caseSensitive !== false && options.caseSensitive !== false,
    ignoreTrailingSlash: routerOptions?.ignoreTrailingSlash === true || options.ignoreTrailingSlash === true,
  };
}
