import { setFlagsFromString } from 'node:v8';
import { inspect } from 'node:util';
import { TokenFileError } from './auth/token-file.js';
import { ListenError } from './commands/listen.js';
import { ConfigurationError, loadConfiguration } from './config/configuration.js';
import { RepositoryStartError } from './storage/plant-repository.js';

/** Exit statuses; a service that was told to stop ends with 0. */
const CANNOT_RUN = 1;
const BAD_CONFIGURATION = 2;

/** Errors whose message is for the operator; others are defects, which are reported with their stack. */
const OPERATOR_ERRORS = [ConfigurationError, ListenError, RepositoryStartError, TokenFileError];

// V8's allocation-site pretenuring moves queued requests to old space, and full collections then cost 20 % CPU.
// Set before any code compiles.
setFlagsFromString('--no-allocation-site-pretenuring');
// Only the user of the service can read the files that it creates.
process.umask(0o077);
// Until the service listens, there is nothing to close.
const exit = (): void => process.exit(0);
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, exit);
// Ignore EPIPE: losing the log reader must not stop the service.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

try {
  if (process.argv.length > 2)
    throw new ConfigurationError('the service takes no arguments: configure it by environment variables');
  const configuration = loadConfiguration();
  // Imported here, so that a wrong setting is reported before the service loads.
  const { start } = await import('./commands/start.js');
  await start(configuration, exit);
} catch (error) {
  const known = OPERATOR_ERRORS.find((type) => error instanceof type) && (error as Error).message;
  process.stderr.write(`plant-store: ${known ?? inspect(error)}\n`);
  // Exit explicitly: a database connection that failed to open may otherwise keep the process alive.
  process.exit(error instanceof ConfigurationError ? BAD_CONFIGURATION : CANNOT_RUN);
}
