import { existsSync } from 'node:fs';
import { Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { watchFiles } from '../files/watch-files.js';
import { type StaticToken, StaticTokens } from './static-tokens.js';
import { parseTokens, readTokenFile } from './token-file.js';

interface FileTokensOptions {
  /** Tokens that are valid beside those of the file. */
  readonly configured?: readonly StaticToken[];
  /** True if there may be no such file before the first token is created. */
  readonly mayBeMissing?: boolean;
}

/** Verifies the static tokens of a file, which is reloaded when it changes. PlantsModule opens and closes the file. */
export class FileTokens extends StaticTokens implements OnModuleInit, OnApplicationShutdown {
  readonly #logger = new Logger('Authentication');
  /** The text whose tokens are in use. */
  #text: string | undefined;
  #stopWatching = (): void => undefined;

  constructor(
    private readonly file: string,
    private readonly options: FileTokensOptions = {},
  ) {
    super(options.configured ?? []);
  }

  /**
   * Reads the file, and watches it from then on.
   *
   * @throws {OperatorError} if it cannot be used
   */
  onModuleInit(): void {
    if (!this.#isMissing()) this.#use(readTokenFile(this.file));
    // The program opens the file before the module does.
    this.#stopWatching();
    this.#stopWatching = watchFiles([this.file], () => this.reload());
  }

  override onApplicationShutdown(): void {
    this.#stopWatching();
  }

  /** Reads the file again. If it cannot be used, the log says why, and the tokens stay as they are. */
  reload(): void {
    if (this.#isMissing()) return;
    try {
      const text = readTokenFile(this.file);
      if (text === this.#text) return;
      this.#use(text);
      this.#logger.log(`${this.file} has changed; number of tokens now: ${this.count}`);
    } catch (error) {
      this.#logger.error(`${(error as Error).message}; keeping the tokens read before`);
    }
  }

  #isMissing(): boolean {
    return this.options.mayBeMissing === true && this.#text === undefined && !existsSync(this.file);
  }

  #use(text: string): void {
    this.tokens = [...(this.options.configured ?? []), ...parseTokens(text, this.file)];
    this.#text = text;
  }
}
