import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Command } from 'commander';
import { loadConfiguration } from '../config/configuration.js';
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
  const { managementHost, managementPort, host, port, basePath, tlsCertFile } = loadConfiguration();
  const isPublic = managementPort === 'off';
  const url = isPublic
    ? `${tlsCertFile === undefined ? 'http' : 'https'}://${addressOf(host)}:${port}${basePath}/plants`
    : `http://${addressOf(managementHost)}:${managementPort}/health/${ready ? 'ready' : 'live'}`;
  const status = await ask(url);
  // The public port answers a request without a token with error 401, and an overloaded one with error 503.
  if (status !== (isPublic ? 400 : 200)) throw new CommandError(`${url} answers with status ${status}`);
  const state = ready && !isPublic ? 'ready' : 'alive';
  printSummary({ state, url, status }, `The service is ${state}`, { json });
}

/** Returns the host for a URL: the loopback address if the service listens on all addresses. */
function addressOf(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

/** Sends a GET, and returns the status of the answer. */
async function ask(url: string): Promise<number | undefined> {
  // Not imported: an import reads all exports, and http.WebSocket loads undici, half of the CPU time on Node 24.
  const { request } = process.getBuiltinModule(url.startsWith('https:') ? 'node:https' : 'node:http');
  // The certificate names the public host, and this is a connection of the machine to itself.
  const options = { rejectUnauthorized: false, agent: false, signal: AbortSignal.timeout(TIMEOUT) };
  try {
    const [response] = (await once(request(url, options).end(), 'response')) as [IncomingMessage];
    response.destroy();
    return response.statusCode;
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const reason = code === 'ABORT_ERR' ? 'timeout' : code;
    throw new CommandError(`${url} does not answer (${reason})`, undefined, { cause });
  }
}
