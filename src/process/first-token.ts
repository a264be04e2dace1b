import { existsSync, fstatSync } from 'node:fs';
import { resolve } from 'node:path';
import { digestToken, generateToken } from '../auth/static-tokens.js';
import { createTokenFile } from '../auth/token-file.js';
import type { Configuration } from '../config/configuration.js';
import { inShell } from '../operator-text.js';

/** The name of the token that the first start creates. */
const NAME = 'first-start';

/**
 * Creates a token if none is configured. Call it when the service listens: a start that fails, for example because its
 * port is in use, must leave no token that it has not shown.
 *
 * @returns a text for stderr, not for the log, which is kept; undefined if there are tokens
 * @throws {OperatorError} if the file cannot be used
 */
export function createFirstToken(configuration: Configuration, url: string): string | undefined {
  const { accessTokens, accessTokensFile, firstTokenFile: file, jwtIssuer } = configuration;
  const isConfigured = accessTokens.length > 0 || (accessTokensFile ?? jwtIssuer) !== undefined;
  if (isConfigured || existsSync(file)) return undefined;
  if (isJournal()) return adviseCommand(file);
  const token = generateToken();
  // Another service that starts in the same directory may have created the file meanwhile.
  if (!createTokenFile(file, { name: NAME, digest: digestToken(token) })) return undefined;
  return adviseCurl(file, token, url);
}

/**
 * Returns whether stderr goes to the journal, which is kept. systemd sets the variable to the file that stderr is then
 * (`JOURNAL_STREAM` in systemd.exec(5)).
 */
function isJournal(): boolean {
  const { dev, ino } = fstatSync(2, { bigint: true });
  return process.env.JOURNAL_STREAM === `${dev}:${ino}`;
}

function adviseCurl(file: string, token: string, url: string): string {
  return `
No token is configured, so the service has created one. It is shown only once; ${file} keeps its digest.
Create a plant with it:

curl -i ${url} \\
  -H 'Authorization: Bearer ${token}' \\
  -H 'Content-Type: application/json' \\
  -d '{"id": 1, "name": "Monstera", "tag": "indoor"}'

`;
}

function adviseCommand(file: string): string {
  const program = [process.execPath, process.argv[1] ?? ''];
  const command = [...program, 'token', 'create', '--name', 'first', '--file', resolve(file)].map(inShell).join(' ');
  return `
No token is configured, and the journal would keep one that is shown here. To create one, run:

${command}

`;
}
