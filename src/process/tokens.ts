import { existsSync, fstatSync } from 'node:fs';
import { resolve } from 'node:path';
import { digestToken, generateToken, numberTokens, StaticTokens } from '../auth/static-tokens.js';
import { createTokenFile } from '../auth/token-file.js';
import { TokenFileVerifier } from '../auth/token-file-verifier.js';
import type { TokenVerifier } from '../auth/token-verifier.js';
import type { Configuration } from '../config/configuration.js';
import { inShell, namingVariable } from '../operator-error.js';

/**
 * Opens the tokens of ACCESS_TOKENS and of the token file.
 *
 * @throws {OperatorError} if the file cannot be used
 */
export function openTokens({ accessTokens, accessTokensFile, tokenFile }: Configuration): StaticTokens {
  const configured = numberTokens(accessTokens);
  if (tokenFile === undefined) return new StaticTokens(configured);
  // The file of the first start may be missing.
  const tokens = new TokenFileVerifier(tokenFile, { configured, mayBeMissing: accessTokensFile === undefined });
  if (accessTokensFile === undefined) tokens.load();
  else namingVariable('ACCESS_TOKENS_FILE', () => tokens.load());
  return tokens;
}

/** Makes the verifier of static tokens and, if an issuer is configured, of its JWTs. */
export async function createVerifier(configuration: Configuration, tokens: StaticTokens): Promise<TokenVerifier> {
  const { jwtIssuer: issuer, jwtAudience: audience, jwtJwksUrl, jwtType: type, jwtAllowHttp } = configuration;
  if (issuer === undefined || audience === undefined) return tokens;
  const { JwtVerifier } = await import('../auth/jwt-verifier.js');
  const jwksUrl = jwtJwksUrl === undefined ? undefined : new URL(jwtJwksUrl);
  const jwts = new JwtVerifier({ issuer, audience, jwksUrl, type, allowHttp: jwtAllowHttp === 'on' });
  return {
    verify: (token) => tokens.verify(token) ?? jwts.verify(token),
    onModuleInit() {
      tokens.onModuleInit?.();
      jwts.onModuleInit();
    },
    onApplicationShutdown() {
      tokens.onApplicationShutdown?.();
      jwts.onApplicationShutdown();
    },
  };
}

/**
 * Creates a token if none is configured. Call it when the service listens: a start that fails, for example because its
 * port is in use, must leave no token that it has not shown.
 *
 * @param url of the operation, for the example
 * @returns a text for stderr, not for the log, which is kept; undefined if no token was created
 * @throws {OperatorError} if the file cannot be used
 */
export function createFirstToken(configuration: Configuration, url: string): string | undefined {
  const { accessTokensFile, jwtIssuer, tokenFile: file } = configuration;
  if (file === undefined || accessTokensFile !== undefined || jwtIssuer !== undefined) return undefined;
  if (existsSync(file) || isJournal()) return undefined;
  const token = generateToken();
  // Another service that starts in the same directory may have created the file meanwhile.
  if (!createTokenFile(file, { name: 'first-start', digest: digestToken(token) })) return undefined;
  return `
No token is configured, so the service has created one. It is shown only once; ${file} keeps its digest.
Create a plant with it:

curl -i ${url} \\
  -H 'Authorization: Bearer ${token}' \\
  -H 'Content-Type: application/json' \\
  -d '{"id": 1, "name": "Monstera", "tag": "indoor"}'

`;
}

/**
 * Returns whether stderr goes to the journal, which is kept. systemd sets the variable to the file that stderr is then
 * (`JOURNAL_STREAM` in systemd.exec(5)).
 */
function isJournal(): boolean {
  const { dev, ino } = fstatSync(2, { bigint: true });
  return process.env.JOURNAL_STREAM === `${dev}:${ino}`;
}

/** Returns the command that creates a token in this file, from any directory. */
export function createTokenCommand(file: string): string {
  const program = [process.execPath, process.argv[1] ?? ''];
  return [...program, 'token', 'create', '--name', 'ci', '--file', resolve(file)].map(inShell).join(' ');
}
