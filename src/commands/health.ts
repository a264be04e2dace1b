import type { IncomingMessage, RequestOptions } from 'node:http';
import type { Command } from 'commander';
import { type Configuration, ConfigurationError, loadConfiguration } from '../config/configuration.js';
import { CommandError } from '../process/command-error.js';
import { JSON_OPTION, printSummary, type ReportOptions } from './report.js';

/** Milliseconds that the service has for its answer; Docker waits for 3 s in our image. */
const TIMEOUT = 2_000;

export function configure(command: Command): void {
  command
    .description(
      'Asks the service of this configuration whether it is alive. With MANAGEMENT_PORT=off, it asks the ' +
        'public port, which tells whether the service answers, but not whether its store works.',
    )
    .option('--ready', 'ask whether it accepts requests and its store can be written')
    .option(...JSON_OPTION)
    .addHelpText('after', '\nExample:\n  plant-store health --ready')
    .action(run);
}

interface HealthOptions extends ReportOptions {
  readonly ready?: boolean;
}

async function run({ ready = false, json }: HealthOptions): Promise<void> {
  const configuration = loadConfiguration();
  const url = urlOf(configuration, ready);
  const { status, isHealthy } = await ask(url, configuration.managementPort === 'off');
  if (!isHealthy) throw new CommandError(`${url} answers with status ${status}`);
  const state = ready && configuration.managementPort !== 'off' ? 'ready' : 'alive';
  printSummary({ state, url, status }, `The service is ${state}`, { json });
}

function urlOf(configuration: Configuration, ready: boolean): string {
  const { managementHost, managementPort, host, port, basePath, tlsCertFile } = configuration;
  if (managementPort === 'off') {
    const scheme = tlsCertFile === undefined ? 'http' : 'https';
    return `${scheme}://${addressOf(host)}:${known('PORT', port)}${basePath}/plants`;
  }
  const path = ready ? '/health/ready' : '/health/live';
  return `http://${addressOf(managementHost)}:${known('MANAGEMENT_PORT', managementPort)}${path}`;
}

function known(variable: string, port: number): number {
  if (port !== 0) return port;
  throw new ConfigurationError(`${variable} must name the port of the service, for example 3001: 0 takes any free one`);
}

/** Returns the host for a URL: the loopback address if the service listens on all addresses. */
function addressOf(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

/** Sends a GET. The public port answers one without a token with error 401, and an overloaded one with error 503. */
async function ask(url: string, isPublic: boolean): Promise<{ status: number; isHealthy: boolean }> {
  const isTls = url.startsWith('https:');
  // Not imported: an import reads all exports, and http.WebSocket loads undici, half of the CPU time on Node 24.
  const { request } = process.getBuiltinModule(isTls ? 'node:https' : 'node:http');
  // The certificate names the public host, and this is a connection of the machine to itself.
  const tls = isTls ? { rejectUnauthorized: false } : {};
  const options: RequestOptions = { ...tls, agent: false, signal: AbortSignal.timeout(TIMEOUT) };
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request(url, options, resolve).on('error', reject).end();
    });
    let body = '';
    for await (const chunk of response.setEncoding('utf8')) body += String(chunk);
    const { statusCode: status = 0 } = response;
    return { status, isHealthy: isPublic ? status === 400 && /"error":\d+/.test(body) : status === 200 };
  } catch (cause) {
    throw new CommandError(`${url} does not answer (${codeOf(cause)})`, undefined, { cause });
  }
}

function codeOf(error: unknown): string {
  const { code, name } = error as { readonly code?: unknown; readonly name?: unknown };
  return name === 'AbortError' || name === 'TimeoutError' ? 'timeout' : String(code);
}
