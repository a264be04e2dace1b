import type { IncomingMessage, RequestOptions } from 'node:http';
import type { Command } from 'commander';
import { type Configuration, loadConfiguration } from '../config/configuration.js';
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
  const status = await ask(url);
  const isPublic = configuration.managementPort === 'off';
  // The public port answers a request without a token with error 401, and an overloaded one with error 503.
  if (status !== (isPublic ? 400 : 200)) throw new CommandError(`${url} answers with status ${status}`);
  const state = ready && !isPublic ? 'ready' : 'alive';
  printSummary({ state, url, status }, `The service is ${state}`, { json });
}

function urlOf(configuration: Configuration, ready: boolean): string {
  const { managementHost, managementPort, host, port, basePath, tlsCertFile } = configuration;
  if (managementPort === 'off') {
    const scheme = tlsCertFile === undefined ? 'http' : 'https';
    return `${scheme}://${addressOf(host)}:${port}${basePath}/plants`;
  }
  return `http://${addressOf(managementHost)}:${managementPort}/health/${ready ? 'ready' : 'live'}`;
}

/** Returns the host for a URL: the loopback address if the service listens on all addresses. */
function addressOf(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

/** Sends a GET, and returns the status of the answer. */
async function ask(url: string): Promise<number | undefined> {
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
    response.destroy();
    return response.statusCode;
  } catch (cause) {
    throw new CommandError(`${url} does not answer (${codeOf(cause)})`, undefined, { cause });
  }
}

function codeOf(error: unknown): string {
  const { code, name } = error as { readonly code?: unknown; readonly name?: unknown };
  return name === 'AbortError' || name === 'TimeoutError' ? 'timeout' : String(code);
}
