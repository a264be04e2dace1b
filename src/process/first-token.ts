import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { FileTokens } from '../auth/file-tokens.js';
import { digestToken, generateToken, type StaticTokens } from '../auth/static-tokens.js';
import { addToken, readTokenFile } from '../auth/token-file.js';
import { type Configuration, isJournal } from '../config/configuration.js';
import { createEmptyFile } from '../files/durable-files.js';

/** The name of the token that the first start creates. */
const FIRST_TOKEN_NAME = 'first-start';

/**
 * Creates a token if none is configured.
 *
 * @returns the token; undefined if there is one already
 * @throws {TokenFileError} if its file cannot be used
 */
export async function createFirstToken(
  tokens: StaticTokens,
  configuration: Configuration,
): Promise<string | undefined> {
  // The journal would keep the token.
  if (!(tokens instanceof FileTokens) || !lacksTokens(configuration) || isJournal()) return undefined;
  if (!createEmptyFile(configuration.firstTokenFile)) {
    // Another process has created it meanwhile, or it is a link that leads nowhere, which ends the start.
    await readTokenFile(configuration.firstTokenFile);
    return undefined;
  }
  const token = generateToken();
  await addToken(configuration.firstTokenFile, { name: FIRST_TOKEN_NAME, digest: digestToken(token) });
  await tokens.onModuleInit();
  return token;
}

/** Prints the first token, or the command that creates one, to stderr and not to the log, which is kept. */
export function printFirstToken(token: string | undefined, url: string, configuration: Configuration): void {
  const { firstTokenFile } = configuration;
  if (token !== undefined) {
    process.stderr.write(`
No token is configured, so the service has created one. It is shown only once; ${firstTokenFile} keeps its digest.
Create a plant with it:

curl -i ${url} \\
  -H 'Authorization: Bearer ${token}' \\
  -H 'Content-Type: application/json' \\
  -d '{"id": 1, "name": "Monstera", "tag": "indoor"}'

`);
  } else if (lacksTokens(configuration)) {
    process.stderr.write(`
No token is configured, and the journal would keep one that is shown here. To create one, run:

${process.execPath} ${process.argv[1] ?? ''} token create --name first --file ${resolve(firstTokenFile)}

`);
  }
}

function lacksTokens({ accessTokens, accessTokensFile, firstTokenFile, jwtIssuer }: Configuration): boolean {
  const isConfigured = accessTokens.length > 0 || (accessTokensFile ?? jwtIssuer) !== undefined;
  return !isConfigured && !existsSync(firstTokenFile);
}
