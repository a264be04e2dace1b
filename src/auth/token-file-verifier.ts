import { existsSync } from 'node:fs';
import { Logger } from '@nestjs/common';
import { watchFiles } from '../files/watch-files.js';
import { type StaticToken, StaticTokens } from './static-tokens.js';
import { parseTokens, readTokenFile } from './token-file.js';
import { TokenVerifier, type VerificationResult } from './token-verifier.js';

interface TokenFileOptions {
  /** Tokens that are valid in addition to those of the file. */
  readonly configured?: readonly StaticToken[];
  /** True if the file may be missing until the first token is created. */
  readonly mayBeMissing?: boolean;
}

/**
 * Verifies the static tokens of a file, which is reloaded when it has changed. While the file cannot be used, the tokens that
 * were read before stay valid.
 *
 * A verifier belongs to one application: when the application closes, the file is no longer reloaded.
 */
export class TokenFileVerifier extends TokenVerifier {
  readonly #logger = new Logger('Authentication');
  readonly #configured: readonly StaticToken[];
  #tokens: StaticTokens;
  /** The text of the file when it was last used; undefined before it is read. */
  #text: string | undefined;
  #isFailing = false;
  #stopWatching = (): void => undefined;

  constructor(
    private readonly file: string,
    private readonly options: TokenFileOptions = {},
  ) {
    super();
    this.#configured = options.configured ?? [];
    this.#tokens = new StaticTokens(this.#configured);
  }

  /** Number of tokens, expired ones included. */
  get count(): number {
    return this.#tokens.count;
  }

  /** Returns when the next token expires; undefined if none will. */
  nextExpiry(): Date | undefined {
    return this.#tokens.nextExpiry();
  }

  override verify(token: string): VerificationResult {
    return this.#tokens.verify(token);
  }

  /**
   * Reads the file, and verifies with its tokens from now on. If the file is missing, as it may be until the first token is
   * created, nothing changes.
   *
   * @throws {OperatorError} if it cannot be used
   */
  load(): void {
    if (this.#text === undefined && this.options.mayBeMissing === true && !existsSync(this.file)) return;
    const text = readTokenFile(this.file);
    this.#tokens = new StaticTokens([...this.#configured, ...parseTokens(text, this.file)]);
    this.#text = text;
    this.#isFailing = false;
  }

  /** Reads the file again. If the file cannot be used, logs the reason and keeps the tokens. */
  reload(): void {
    const before = this.#isFailing ? undefined : this.#text;
    try {
      this.load();
      if (this.#text === before) return;
      this.#logger.log(`${this.file} is in use; number of tokens now: ${this.count}`);
    } catch (error) {
      this.#isFailing = true;
      this.#logger.error(`${(error as Error).message}; keeping the tokens read before`);
    }
  }

  override onModuleInit(): void {
    // Nest calls it twice if the verifier is also a provider of the host.
    this.#stopWatching();
    // The program has read the file already, to report a fault before it opens its ports.
    if (this.#text === undefined) this.load();
    this.#stopWatching = watchFiles([this.file], () => this.reload());
  }

  override onApplicationShutdown(): void {
    this.#stopWatching();
  }
}
