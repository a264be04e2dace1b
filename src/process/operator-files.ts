import { TokenFileVerifier } from '../auth/token-file-verifier.js';
import { numberTokens, StaticTokens } from '../auth/static-tokens.js';
import type { Configuration } from '../config/configuration.js';
import { namingVariable } from '../operator-error.js';
import { CertificateFiles } from './certificate-files.js';

/**
 * The operator's files: the tokens, with those of the environment, and the certificate. A start reads them before it opens
 * the store: a faulty file leaves no new store.
 */
export class OperatorFiles {
  /** The static tokens: those of the environment alone, or also those of a file. */
  readonly tokens: StaticTokens | TokenFileVerifier;
  readonly certificate: CertificateFiles | undefined;

  /** @throws {OperatorError} if the token file or the certificate cannot be used */
  constructor(configuration: Configuration) {
    this.tokens = openTokens(configuration);
    this.certificate = openCertificate(configuration);
  }

  /** Reads the files again. It keeps the contents of a file that cannot be used, and logs the reason. */
  reload(): void {
    this.certificate?.reload();
    this.#tokenFile?.reload();
  }

  get #tokenFile(): TokenFileVerifier | undefined {
    return this.tokens instanceof TokenFileVerifier ? this.tokens : undefined;
  }
}

/** Opens the tokens of ACCESS_TOKENS and ACCESS_TOKENS_FILE or, if neither is set, of the file of the first start. */
function openTokens(configuration: Configuration): StaticTokens | TokenFileVerifier {
  const { accessTokensFile, firstTokenFile } = configuration;
  const configured = numberTokens(configuration.accessTokens);
  if (accessTokensFile !== undefined) {
    const tokens = new TokenFileVerifier(accessTokensFile, { configured });
    namingVariable('ACCESS_TOKENS_FILE', () => tokens.load());
    return tokens;
  }
  if (configured.length > 0) return new StaticTokens(configured);
  const tokens = new TokenFileVerifier(firstTokenFile, { mayBeMissing: true });
  tokens.load();
  return tokens;
}

/** @returns undefined if no certificate is configured */
function openCertificate({ tlsCertFile, tlsKeyFile }: Configuration): CertificateFiles | undefined {
  if (tlsCertFile === undefined || tlsKeyFile === undefined) return undefined;
  return new CertificateFiles(tlsCertFile, tlsKeyFile);
}
