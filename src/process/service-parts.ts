import type { LoggerService } from '@nestjs/common';
import { ReloadableTokens } from '../auth/reloadable-tokens.js';
import { type Configuration, isJournal } from '../config/configuration.js';
import type { Certificate } from '../http/certificate.js';
import { openRepository } from '../storage/open-repository.js';
import type { PlantRepository } from '../storage/plant-repository.js';
import { loadCertificate, nameTokenVariable, watchCertificate } from './start-files.js';

/** What each process of the service opens. */
export class ServiceParts {
  private constructor(
    private readonly configuration: Configuration,
    readonly repository: PlantRepository,
    readonly tokens: ReloadableTokens,
    /** Undefined without TLS. */
    public certificate: Certificate | undefined,
  ) {}

  /**
   * Opens the store, which is created if it does not exist, the tokens and the certificate.
   *
   * @throws {ConfigurationError | RepositoryStartError | TokenFileError} with a message for the operator
   */
  static async open(configuration: Configuration, logger: LoggerService): Promise<ServiceParts> {
    const { accessTokens, accessTokensFile, firstTokenFile, jwtIssuer } = configuration;
    // The journal would keep the token.
    const generateFirst = jwtIssuer === undefined && !isJournal();
    const settings = { accessTokens, accessTokensFile, firstTokenFile, generateFirst };
    const tokens = await ReloadableTokens.open(settings).catch((error: unknown) => {
      throw nameTokenVariable(error, configuration);
    });
    const certificate = loadCertificate(configuration);
    const repository = await openRepository(configuration.databaseUrl, {
      timeout: configuration.storeTimeout,
      startTimeout: configuration.databaseStartTimeout,
      onWait: (reason) => void logger.warn(`The start waits for the database: ${reason}`, 'PlantStore'),
    });
    return new ServiceParts(configuration, repository, tokens, certificate);
  }

  /**
   * Uses changed files from now on.
   *
   * @param use gets each new certificate
   */
  watch(use: (certificate: Certificate) => void = () => undefined): void {
    this.tokens.watch();
    if (this.certificate === undefined) return;
    watchCertificate(this.certificate, this.configuration, (changed) => {
      use(changed);
      this.certificate = changed;
    });
  }
}
