import { existsSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { digestToken, generateToken } from '../auth/static-tokens.js';
import { addToken, readTokenFile } from '../auth/token-file.js';
import { type Configuration, isJournal } from '../config/configuration.js';
import { createEmptyFile } from '../files/durable-files.js';

/** The name of the token that the first start creates. */
const NAME = 'first-start';

/** The token that the first start creates if none is configured, and shows once it listens. */
export class FirstToken {
  #token: string | undefined;

  constructor(private readonly configuration: Configuration) {}

  /**
   * Creates the token. If the start ends before it is shown, its file goes, so that the next start shows another one.
   *
   * @throws {TokenFileError} if its file cannot be used
   */
  async create(): Promise<void> {
    const { firstTokenFile } = this.configuration;
    // The journal would keep the token.
    if (!this.#isMissing() || isJournal()) return;
    if (!createEmptyFile(firstTokenFile)) {
      // Another process has created it meanwhile, or it is a link that leads nowhere, which ends the start.
      await readTokenFile(firstTokenFile);
      return;
    }
    process.once('exit', this.#remove);
    this.#token = generateToken();
    await addToken(firstTokenFile, { name: NAME, digest: digestToken(this.#token) });
  }

  /** Prints the token, or the command that creates one, to stderr and not to the log, which is kept. */
  show(url: string): void {
    const { firstTokenFile } = this.configuration;
    if (this.#token !== undefined) {
      process.off('exit', this.#remove);
      process.stderr.write(`
No token is configured, so the service has created one. It is shown only once; ${firstTokenFile} keeps its digest.
Create a plant with it:

curl -i ${url} \\
  -H 'Authorization: Bearer ${this.#token}' \\
  -H 'Content-Type: application/json' \\
  -d '{"id": 1, "name": "Monstera", "tag": "indoor"}'

`);
    } else if (this.#isMissing()) {
      process.stderr.write(`
No token is configured, and the journal would keep one that is shown here. To create one, run:

${process.execPath} ${process.argv[1] ?? ''} token create --name first --file ${resolve(firstTokenFile)}

`);
    }
  }

  readonly #remove = (): void => rmSync(this.configuration.firstTokenFile, { force: true });

  #isMissing(): boolean {
    const { accessTokens, accessTokensFile, firstTokenFile, jwtIssuer } = this.configuration;
    const isConfigured = accessTokens.length > 0 || (accessTokensFile ?? jwtIssuer) !== undefined;
    return !isConfigured && !existsSync(firstTokenFile);
  }
}
