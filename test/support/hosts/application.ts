import type { Server } from 'node:http';
import type { DynamicModule, INestApplication, LoggerService, NestApplicationOptions, Type } from '@nestjs/common';
import { type AbstractHttpAdapter, NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { MONSTERA } from '../client.js';

export const PLATFORMS = ['express', 'fastify'] as const;

type Platform = (typeof PLATFORMS)[number];

export type Application = INestApplication<Server>;

/** The warnings and errors that Nest's logger gets. */
export class HostLog implements LoggerService {
  readonly warnings: string[] = [];
  readonly errors: unknown[][] = [];
  log = (): void => undefined;
  warn = (message: string): number => this.warnings.push(message);
  error = (...line: unknown[]): number => this.errors.push(line);
}

export function newAdapter(platform: Platform): AbstractHttpAdapter {
  return platform === 'express' ? new ExpressAdapter() : new FastifyAdapter();
}

/** Creates an application of this process, without a log unless there is a logger. */
export function newApplication(
  module: DynamicModule | Type,
  { adapter = newAdapter('express'), ...options }: NestApplicationOptions & { adapter?: AbstractHttpAdapter } = {},
): Promise<Application> {
  return NestFactory.create(module, adapter, { logger: false, abortOnError: false, ...options });
}

interface HostAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly challenge: string | null;
  readonly retryAfter: string | null;
}

/** Sends a request, and starts the application before the first one. */
export async function send(
  app: Application,
  {
    method = 'POST',
    path = '/plants',
    token = 'token',
    body = method === 'POST' ? JSON.stringify(MONSTERA) : null,
  }: {
    readonly method?: string;
    readonly path?: string;
    /** Null omits the header. */
    readonly token?: string | null;
    readonly body?: string | null;
  } = {},
): Promise<HostAnswer> {
  if (!app.getHttpServer().listening) await app.listen(0, '127.0.0.1');
  const headers = { 'content-type': 'application/json', ...(token !== null && { authorization: `Bearer ${token}` }) };
  const answer = await fetch((await app.getUrl()) + path, { method, headers, body });
  return {
    status: answer.status,
    body: await answer.json(),
    challenge: answer.headers.get('www-authenticate'),
    retryAfter: answer.headers.get('retry-after'),
  };
}
