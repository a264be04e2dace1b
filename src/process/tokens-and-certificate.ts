import { TokenFileVerifier } from '../auth/token-file-verifier.js';
import { numberTokens, type ServiceTokens, StaticTokens } from '../auth/static-tokens.js';
import { type Configuration, forVariable } from '../config/configuration.js';
import { OperatorError } from '../operator-error.js';
import { type Certificate, certificateExpiry, readCertificate, validityFault } from '../http/certificate.js';

/** A start reads both before it opens the store, so that a fault in their files leaves no new store. */
export interface TokensAndCertificate {
  readonly tokens: ServiceTokens;
  readonly certificate: Certificate | undefined;
}

/** @throws {OperatorError} if the token file or the certificate cannot be used */
export function openTokensAndCertificate(configuration: Configuration): TokensAndCertificate {
  return { tokens: openTokens(configuration), certificate: loadCertificate(configuration) };
}

/**
 * Checks the files for a worker that replaces another one: the one before had their contents in memory.
 *
 * @param files of the primary, read at its start
 * @throws {OperatorError} if the worker could not use them, or would know no token
 */
export function checkTokensAndCertificate(configuration: Configuration, { tokens }: TokensAndCertificate): void {
  tokens.read?.();
  if (tokens.count === 0 && configuration.jwtIssuer === undefined) {
    throw new OperatorError(
      'there are no tokens: restore the token file, or create a token with plant-store token create',
    );
  }
  loadCertificate(configuration);
}

/** Opens the tokens of ACCESS_TOKENS and of ACCESS_TOKENS_FILE or, without either, of the file of the first start. */
export function openTokens(configuration: Configuration): ServiceTokens {
  const { accessTokensFile, firstTokenFile } = configuration;
  const configured = numberTokens(configuration.accessTokens);
  if (accessTokensFile !== undefined) {
    const tokens = new TokenFileVerifier(accessTokensFile, { configured });
    forVariable('ACCESS_TOKENS_FILE', () => tokens.read());
    return tokens;
  }
  if (configured.length > 0) return new StaticTokens(configured);
  const tokens = new TokenFileVerifier(firstTokenFile, { mayBeMissing: true });
  tokens.read();
  return tokens;
}

/**
 * Reads the certificate of the public port.
 *
 * @returns undefined if none is configured
 * @throws {OperatorError} if it cannot be used
 */
export function loadCertificate({ tlsCertFile, tlsKeyFile }: Configuration): Certificate | undefined {
  if (tlsCertFile === undefined || tlsKeyFile === undefined) return undefined;
  return forVariable('TLS_CERT_FILE and TLS_KEY_FILE', () => readCertificate(tlsCertFile, tlsKeyFile));
}

/**
 * Reads the certificate of the public port, which must be valid now. The start accepts any: a renewed one replaces it.
 *
 * @returns undefined if none is configured
 * @throws {OperatorError} if it cannot be used
 */
export function loadValidCertificate(configuration: Configuration): Certificate | undefined {
  const certificate = loadCertificate(configuration);
  const fault = certificate && validityFault(certificate);
  if (fault !== undefined) throw new OperatorError(`TLS_CERT_FILE: ${fault}`);
  return certificate;
}

/** Returns when a certificate expires; undefined without one. */
export function expiryOf(certificate: Certificate | undefined): Date | undefined {
  return certificate && certificateExpiry(certificate);
}
