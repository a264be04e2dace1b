import { FileTokens } from '../auth/file-tokens.js';
import { numberTokens, StaticTokens } from '../auth/static-tokens.js';
import { TokenFileError } from '../auth/token-file.js';
import { type Configuration, ConfigurationError } from '../config/configuration.js';
import { type Certificate, CertificateError, certificateExpiry, readCertificate } from '../http/certificate.js';

/** Opens the tokens of ACCESS_TOKENS and of ACCESS_TOKENS_FILE or, without either, of the file of the first start. */
export function openTokens(configuration: Configuration): StaticTokens {
  const { accessTokens, accessTokensFile, firstTokenFile } = configuration;
  const configured = numberTokens(accessTokens);
  if (accessTokensFile === undefined && configured.length > 0) return new StaticTokens(configured);
  const mayBeMissing = accessTokensFile === undefined;
  const tokens = new FileTokens(accessTokensFile ?? firstTokenFile, { configured, mayBeMissing });
  try {
    tokens.onModuleInit();
  } catch (error) {
    throw nameTokenVariable(error, configuration);
  }
  return tokens;
}

/** Adds the name of the variable to the error of a token file, if a variable names the file. */
function nameTokenVariable(error: unknown, { accessTokensFile }: Configuration): unknown {
  if (!(error instanceof TokenFileError) || accessTokensFile === undefined) return error;
  return new ConfigurationError(`ACCESS_TOKENS_FILE: ${error.message}`);
}

/**
 * Reads the certificate of the public port.
 *
 * @returns undefined if none is configured
 * @throws {ConfigurationError} if it cannot be used
 */
export function loadCertificate({ tlsCertFile, tlsKeyFile }: Configuration): Certificate | undefined {
  if (tlsCertFile === undefined || tlsKeyFile === undefined) return undefined;
  try {
    return readCertificate(tlsCertFile, tlsKeyFile);
  } catch (error) {
    if (!(error instanceof CertificateError)) throw error;
    throw new ConfigurationError(`TLS_CERT_FILE and TLS_KEY_FILE: ${error.message}`);
  }
}

/** Returns when a certificate expires; undefined without one. */
export function expiryOf(certificate: Certificate | undefined): Date | undefined {
  return certificate && certificateExpiry(certificate);
}
