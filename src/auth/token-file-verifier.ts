import { existsSync } from 'node:fs';
import { Logger } from '@nestjs/common';
import { watchFiles } from '../files/watch-files.js';
import { type StaticToken, StaticTokens } from './static-tokens.js';
import { parseTokens, readTokenFile } from './token-file.js';

interface TokenFileOptions {
  /** Tokens that are valid in addition to those of the file. */
  readonly configured?: readonly StaticToken[];
  /** True if the file may be missing until the first token is created. */
  readonly mayBeMissing?: boolean;
}

/**
 * Verifies the static tokens of a file, which is reloaded when it has changed. While the file cannot be used, the
 * tokens that were read before stay valid.
 *
 * A verifier belongs to one application: when the application closes, the file is no longer reloaded.
 */
export class TokenFileVerifier extends StaticTokens {
  readonly #logger = new Logger('Authentication');
  readonly #configured: readonly StaticToken[];
  /** Becomes false when the file is there: afterwards, it must not be missing. */
  #mayBeMissing: boolean;
  /** The text of the file while it is in use: undefined before the first `load`, and after one that has failed. */
  #text: string | undefined;
  #stopWatching = (): void => undefined;

  constructor(
    private readonly file: string,
    { configured = [], mayBeMissing = false }: TokenFileOptions = {},
  ) {
    super(configured);
    this.#configured = configured;
    this.#mayBeMissing = mayBeMissing;
  }

  /**
   * Reads the file, and verifies with its tokens from now on. If the file is missing, as it may be until the first
   * token is created, nothing changes.
   *
   * @throws {OperatorError} if it cannot be used
   */
  load(): void {
    if (this.#mayBeMissing && !existsSync(this.file)) return;
    this.#mayBeMissing = false;
    this.#text = undefined;
    const text = readTokenFile(this.file);
    this.tokens = [...this.#configured, ...parseTokens(text, this.file)];
    this.#text = text;
  }

  /** Reads the file again. If the file cannot be used, logs the reason and keeps the tokens. */
  reload(): void {
    const before = this.#text;
    try {
      this.load();
      if (this.#text !== before) this.#logger.log(`${this.file} is in use; number of tokens now: ${this.count}`);
    } catch (error) {
      this.#logger.error(`${(error as Error).message}; keeping the tokens read before`);
    }
  }

  override onModuleInit(): void {
    // The program has read the file already, to report a fault before it opens its ports.
    if (this.#text === undefined) this.load();
    this.#stopWatching = watchFiles([this.file], () => this.reload());
  }

  override onApplicationShutdown(): void {
    this.#stopWatching();
  }
}
