import { existsSync, readFileSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { digestToken, generateToken } from '../auth/static-tokens.js';
import { addToken, formatToken, readTokenFile } from '../auth/token-file.js';
import { type Configuration, isJournal } from '../config/configuration.js';
import { createEmptyFile } from '../files/durable-files.js';

/** The name of the token that the first start creates. */
const NAME = 'first-start';

/**
 * Creates a token if none is configured. If the process ends before it is shown, its file goes, so that the next start
 * shows another one.
 *
 * @returns a function that shows it, or the command that creates one, on stderr and not in the log, which is kept
 * @throws {TokenFileError} if its file cannot be used
 */
export function createFirstToken(configuration: Configuration): (url: string) => void {
  const { accessTokens, accessTokensFile, firstTokenFile: file, jwtIssuer } = configuration;
  const isConfigured = accessTokens.length > 0 || (accessTokensFile ?? jwtIssuer) !== undefined;
  if (isConfigured || existsSync(file)) return () => undefined;
  if (isJournal()) return () => process.stderr.write(adviseCommand(file));
  if (!createEmptyFile(file)) {
    // Another process has created it meanwhile, or it is a link that leads nowhere, which ends the start.
    readTokenFile(file);
    return () => undefined;
  }
  const token = generateToken();
  const firstToken = { name: NAME, digest: digestToken(token) };
  const remove = (): void => {
    // An operator may have added a token meanwhile.
    const text = existsSync(file) ? readFileSync(file, 'utf8') : undefined;
    if (text === '' || text === `${formatToken(firstToken)}\n`) rmSync(file);
  };
  process.once('exit', remove);
  addToken(file, firstToken);
  return (url) => {
    process.off('exit', remove);
    process.stderr.write(adviseCurl(file, token, url));
  };
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
  return `
No token is configured, and the journal would keep one that is shown here. To create one, run:

${process.execPath} ${process.argv[1] ?? ''} token create --name first --file ${resolve(file)}

`;
}
