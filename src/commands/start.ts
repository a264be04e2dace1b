import type { Command } from 'commander';
import { loadConfiguration } from '../config/load-configuration.js';
import { onSignals } from '../process/signals.js';

export function configure(command: Command): void {
  command
    .description('Starts the service, which runs until SIGTERM or SIGINT. Environment variables configure it.')
    .addHelpText('after', '\nExample:\n  PORT=8080 plant-store start')
    .action(start);
}

async function start(): Promise<void> {
  // Losing the reader of its log must not stop the service.
  process.stdout.on('error', () => undefined);
  // While the service starts, it has nothing to finish at a signal, and nothing to reload.
  onSignals({ stop: () => process.exit(), reload: () => undefined });
  const configuration = loadConfiguration();
  // Loaded here, so that signals and a wrong setting need not wait until the service is loaded.
  const { startService } = await import('../process/service.js');
  await startService(configuration);
}
