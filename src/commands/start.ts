import type { Command } from 'commander';
import { loadConfiguration } from '../config/load-configuration.js';

export function configure(command: Command): void {
  command
    .description('Starts the service, which runs until SIGTERM or SIGINT. Environment variables configure it.')
    .addHelpText('after', '\nExample:\n  PORT=8080 plant-store start')
    .action(start);
}

async function start(): Promise<void> {
  const configuration = loadConfiguration();
  // Loaded here, so that a wrong setting is reported before the service loads.
  const { startService } = await import('../process/service.js');
  await startService(configuration);
}
