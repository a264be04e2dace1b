import { numberTokens, StaticTokens } from '../auth/static-tokens.js';
import { TokenFileVerifier } from '../auth/token-file-verifier.js';
import type { Configuration } from '../config/configuration.js';
import { namingVariable } from '../operator-error.js';

/**
 * Opens the tokens of ACCESS_TOKENS and ACCESS_TOKENS_FILE or, if neither is set, of the file of the first start.
 *
 * @throws {OperatorError} if the file cannot be used
 */
export function openTokens(configuration: Configuration): StaticTokens | TokenFileVerifier {
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
