import { TokenFileError } from '../auth/token-file-error.js';
import { type Configuration, ConfigurationError } from '../config/configuration.js';
import { type Certificate, CertificateError, certificateExpiry, readCertificate } from '../http/certificate.js';

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

/**
 * Checks the certificate of the public port, and returns the instant at which it expires.
 *
 * @returns undefined if none is configured
 * @throws {ConfigurationError} if it cannot be used
 */
export function checkCertificate(configuration: Configuration): Date | undefined {
  const certificate = loadCertificate(configuration);
  return certificate && certificateExpiry(certificate);
}

/** Adds the name of the variable to the error of a token file, if a variable names the file. */
export function nameTokenVariable(error: unknown, { accessTokensFile }: Configuration): unknown {
  if (!(error instanceof TokenFileError) || accessTokensFile === undefined) return error;
  return new ConfigurationError(`ACCESS_TOKENS_FILE: ${error.message}`);
}
