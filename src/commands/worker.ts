import type { Command } from 'commander';
import { badUsage } from '../contract/operator-error.js';
import { setHeapFlags } from '../process/heap.js';
import { onStopSignals } from '../process/stop-signals.js';

export function configure(command: Command): void {
  command.description('Serves the public port for a service with WORKERS, which starts it.').action(run);
}

async function run(): Promise<void> {
  if (!process.connected) throw badUsage('the command start starts the workers');
  // A terminal and systemd send signals to all processes of the service: the primary tells its workers what to do.
  onStopSignals(() => undefined);
  setHeapFlags();
  const { serveForPrimary } = await import('../process/worker.js');
  serveForPrimary();
}
