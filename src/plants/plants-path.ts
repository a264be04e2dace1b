import { RequestMethod } from '@nestjs/common';
import type { AbstractHttpAdapter, ApplicationConfig } from '@nestjs/core';
import { PLANTS_PATH } from './plants.controller.js';

/** How a router compares paths. */
interface Routing {
  readonly caseSensitive: boolean;
  readonly ignoreTrailingSlash: boolean;
}

/** Fastify's application, as far as it is used here: https://fastify.dev/docs/latest/Reference/Server/#initialconfig */
interface Fastify {
  readonly initialConfig: Partial<Routing> & { readonly routerOptions?: Partial<Routing> };
}

/**
 * Returns whether the application's router takes a path for that of `POST /plants`. It knows the global prefix and its
 * exclusions, but not what RouterModule adds.
 */
export function isPlantsPath(path: string, config: ApplicationConfig, adapter: AbstractHttpAdapter): boolean {
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
