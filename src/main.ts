import { setFlagsFromString } from 'node:v8';
import { ConfigurationError, loadConfiguration } from './config/configuration.js';

/** Exit statuses; 0 is that of a service which was told to stop. */
const CANNOT_RUN = 1;
const BAD_CONFIGURATION = 2;

// V8 would take requests that wait for their batch for objects that stay, put all of their kind where only a full
// collection finds them, and spend a fifth of its time on that. Before anything is compiled.
setFlagsFromString('--no-allocation-site-pretenuring');
// Plants are nobody's business but the service's: its files are for its user alone.
process.umask(0o077);
// Until there is something to stop in order.
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => process.exit(0));
// Whoever read the log is gone; those who create plants are not.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

try {
  if (process.argv.length > 2)
    throw new ConfigurationError('the service takes no arguments: it is configured by environment variables');
  const configuration = loadConfiguration();
  // Not before: the service takes longer to load than a wrong setting to be found.
  const { startService } = await import('./service.js');
  await startService(configuration);
} catch (error) {
  process.stderr.write(`plant-store: ${error instanceof Error ? error.message : String(error)}\n`);
  // At once: a server may keep a connection that could not be used open for as long as it likes.
  process.exit(error instanceof ConfigurationError ? BAD_CONFIGURATION : CANNOT_RUN);
}
