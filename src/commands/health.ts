import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Command } from 'commander';
import { loadConfiguration } from '../config/configuration.js';
import { badUsage, OperatorError } from '../contract/operator-error.js';
import { JSON_OPTION, printSummary, type ReportOptions } from './report.js';

/** Milliseconds that the service has for its answer; Docker waits for 3 s in our image. */
const TIMEOUT = 2_000;

export function configure(command: Command): void {
  command
    .description('Asks the management listener of the service of this configuration whether the service is alive.')
    .option('--ready', 'ask whether it accepts requests and its store can be written')
    .option(...JSON_OPTION)
    .addHelpText('after', '\nExample:\n  plant-store health --ready')
    .action(run);
}

interface HealthOptions extends ReportOptions {
  readonly ready?: boolean;
}

async function run({ ready = false, json }: HealthOptions): Promise<void> {
  const { managementHost, managementPort } = loadConfiguration();
  if (managementPort === 'off') throw badUsage('health needs a MANAGEMENT_PORT: it is off');
  const url = `http://${addressOf(managementHost)}:${managementPort}/health/${ready ? 'ready' : 'live'}`;
  const status = await ask(url);
  if (status !== 200) throw new OperatorError(`${url} answers with status ${status}`);
  const state = ready ? 'ready' : 'alive';
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
  const { request } = process.getBuiltinModule('node:http');
  try {
    const sent = request(url, { agent: false, signal: AbortSignal.timeout(TIMEOUT) }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.destroy();
    return response.statusCode;
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const reason = code === 'ABORT_ERR' ? 'timeout' : code;
    throw new OperatorError(`${url} does not answer (${reason})`, { cause });
  }
}
