import type { LoggerService } from '@nestjs/common';
import { FileTokens } from '../auth/file-tokens.js';
import type { StaticTokens } from '../auth/static-tokens.js';
import type { Configuration } from '../config/configuration.js';
import type { Certificate } from '../http/certificate.js';
import { openRepository } from '../storage/open-repository.js';
import type { PlantRepository } from '../storage/plant-repository.js';
import { loadCertificate, openTokens } from './start-files.js';

/** The parts that each process of the service opens. */
export interface ServiceParts {
  readonly repository: PlantRepository;
  readonly tokens: StaticTokens;
  /** Undefined without TLS; changes with its files. */
  certificate: Certificate | undefined;
}

/**
 * Opens the tokens, the certificate and the store, which is created if it does not exist.
 *
 * @throws {ConfigurationError | RepositoryStartError | TokenFileError} with a message for the operator
 */
export async function openParts(configuration: Configuration, logger: LoggerService): Promise<ServiceParts> {
  const tokens = await openTokens(configuration);
  const certificate = loadCertificate(configuration);
  const repository = await openRepository(configuration.databaseUrl, {
    timeout: configuration.storeTimeout,
    startTimeout: configuration.databaseStartTimeout,
    onWait: (reason) => void logger.warn(`The start waits for the database: ${reason}`, 'PlantStore'),
  });
  return { repository, tokens, certificate };
}

/** Reads the token file again, if there is one. */
export async function reloadTokens({ tokens }: ServiceParts): Promise<void> {
  if (tokens instanceof FileTokens) await tokens.reload();
}
