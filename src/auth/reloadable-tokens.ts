import { existsSync } from 'node:fs';
import { Logger } from '@nestjs/common';
import { watchFiles } from '../files/watch-files.js';
import { digestToken, generateToken, numberTokens, type StaticToken, StaticTokens } from './static-tokens.js';
import { createTokenFile, formatToken, parseTokens, readTokenFile } from './token-file.js';
import { TokenFileError } from './token-file-error.js';

/** The name of the token that the first start generates. */
const FIRST_TOKEN_NAME = 'first-start';

/** The static tokens of a running service: those of its configuration, and those of a file that may change. */
export class ReloadableTokens extends StaticTokens {
  readonly #logger = new Logger('Authentication');
  readonly #configured: readonly StaticToken[];
  readonly #file: string | undefined;
  /** The token of a first start, until its digest is in the file. */
  #firstToken: string | undefined;
  /** The text of the file whose tokens are in use. */
  #text: string | undefined;
  /** The message about the file that was logged last, until the file can be used again. */
  #complaint: string | undefined;
  #reloading: Promise<void> = Promise.resolve();
  #follower: (tokens: readonly StaticToken[]) => void = () => undefined;

  private constructor(configured: readonly StaticToken[], file: string | undefined) {
    super(configured);
    this.#configured = configured;
    this.#file = file;
  }

  /**
   * Opens the tokens of ACCESS_TOKENS and of ACCESS_TOKENS_FILE or, without either, of the file of the first start.
   *
   * @throws {TokenFileError} if the file cannot be used
   */
  static async open(settings: {
    /** In clear text. */
    readonly accessTokens: readonly string[];
    readonly accessTokensFile: string | undefined;
    readonly firstTokenFile?: string;
    /** Generates a token if nothing else is configured and the file of the first start does not exist. */
    readonly generateFirst?: boolean;
  }): Promise<ReloadableTokens> {
    const { accessTokens, accessTokensFile, firstTokenFile, generateFirst } = settings;
    const file = accessTokensFile ?? (accessTokens.length === 0 ? firstTokenFile : undefined);
    const tokens = new ReloadableTokens(numberTokens(accessTokens), file);
    if (file === undefined) return tokens;
    if (file === accessTokensFile || existsSync(file)) tokens.#use(await readTokenFile(file), file);
    else if (generateFirst) tokens.#firstToken = generateToken();
    return tokens;
  }

  /**
   * Puts the token of a first start into use, and its digest into the file.
   *
   * @returns the token; undefined if there is none, or if another process has created the file meanwhile
   * @throws {TokenFileError} if the file cannot be used
   */
  async keepFirstToken(): Promise<string | undefined> {
    const token = this.#firstToken;
    if (token === undefined || this.#file === undefined) return undefined;
    const created = createTokenFile(this.#file, formatToken({ name: FIRST_TOKEN_NAME, digest: digestToken(token) }));
    this.#use(await readTokenFile(this.#file), this.#file);
    return created ? token : undefined;
  }

  /** Calls `follower` with the tokens in use: now, and whenever they change. */
  follow(follower: (tokens: readonly StaticToken[]) => void): void {
    this.#follower = follower;
    follower(this.tokens);
  }

  /**
   * Reloads the file whenever it changes.
   *
   * @returns a function that stops watching
   */
  watch(): () => void {
    return this.#file === undefined ? () => undefined : watchFiles([this.#file], () => void this.reload());
  }

  /** Reads the file again, if there is one. If it cannot be used, the log says why, and the tokens stay as they are. */
  reload(): Promise<void> {
    // One after another, so that an older text does not replace a newer one.
    this.#reloading = this.#reloading
      .then(() => this.#reload())
      .catch((error: unknown) => this.#logger.error(`The tokens could not be reloaded: ${String(error)}`));
    return this.#reloading;
  }

  async #reload(): Promise<void> {
    const file = this.#file;
    // Without a first token there is no such file until the first `token create`.
    if (file === undefined || (this.#text === undefined && !existsSync(file))) return;
    try {
      const text = await readTokenFile(file);
      if (text === this.#text && this.#complaint === undefined) return;
      const count = this.#use(text, file);
      this.#logger.log(`${file} has changed; number of tokens now: ${count}`);
    } catch (error) {
      if (!(error instanceof TokenFileError)) throw error;
      if (error.message === this.#complaint) return;
      this.#complaint = error.message;
      this.#logger.error(`${error.message}; keeping the tokens read before`);
    }
  }

  /** @returns how many tokens the text has */
  #use(text: string, file: string): number {
    const tokens = parseTokens(text, file);
    this.replace([...this.#configured, ...tokens]);
    this.#follower(this.tokens);
    this.#text = text;
    this.#complaint = undefined;
    return tokens.length;
  }
}
