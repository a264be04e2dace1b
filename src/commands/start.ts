import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import type { Command } from 'commander';
import { loadConfiguration } from '../config/configuration.js';
import { collectEarlier } from './heap.js';

export function configure(command: Command): void {
  command
    .description('Starts the service, which runs until SIGTERM or SIGINT. Environment variables configure it.')
    .addHelpText('after', '\nExample:\n  PORT=8080 plant-store start')
    .action(start);
}

/** Bytes to which V8's young generation may grow: as many as on Node 20 and 22. */
const YOUNG_GENERATION = 33_554_432;

async function start(): Promise<void> {
  setHeapFlags();
  const configuration = loadConfiguration();
  // Imported here, so that a wrong setting is reported before the service loads.
  const { startService } = await import('./service.js');
  await startService(configuration);
}

/** Sets flags of V8 for less memory and less work; before the code of the service compiles. */
function setHeapFlags(): void {
  // V8's allocation-site pretenuring moves queued requests to old space, and full collections then cost 20 % CPU.
  setFlagsFromString('--no-allocation-site-pretenuring');
  collectEarlier();
  // Under the clients of test/http/soak, the service takes 260 MB on Node 24, and 400 MB without this limit: there the
  // young generation grows to 134 MB. `--max-semi-space-size` would have no effect, because Node runs already.
  let wasLarge = false;
  new PerformanceObserver(() => {
    const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
    const isLarge = young !== undefined && young.space_size >= YOUNG_GENERATION;
    if (isLarge !== wasLarge) setFlagsFromString(`--semi-space-growth-factor=${isLarge ? 1 : 2}`);
    wasLarge = isLarge;
  }).observe({ entryTypes: ['gc'] });
}
