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
  /** The message about the file that was logged last, until the file can be used again. */
  #complaint: string | undefined;
  #reloading: Promise<void> = Promise.resolve();
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
   * @throws {TokenFileError} if it cannot be used
   */
  async onModuleInit(): Promise<void> {
    if (!this.#isMissing()) this.#use(await readTokenFile(this.file));
    // The program opens the file before the module does.
    this.#stopWatching();
    this.#stopWatching = watchFiles([this.file], () => void this.reload());
  }

  override onApplicationShutdown(): void {
    this.#stopWatching();
  }

  /** Reads the file again. If it cannot be used, the log says why, and the tokens stay as they are. */
  reload(): Promise<void> {
    // One after another, so that an older text does not replace a newer one.
    this.#reloading = this.#reloading.then(() => this.#reload());
    return this.#reloading;
  }

  async #reload(): Promise<void> {
    if (this.#isMissing()) return;
    try {
      const text = await readTokenFile(this.file);
      if (text === this.#text && this.#complaint === undefined) return;
      const count = this.#use(text);
      this.#logger.log(`${this.file} has changed; number of tokens now: ${count}`);
    } catch (error) {
      const complaint = error instanceof Error ? error.message : String(error);
      if (complaint === this.#complaint) return;
      this.#complaint = complaint;
      this.#logger.error(`${complaint}; keeping the tokens read before`);
    }
  }

  #isMissing(): boolean {
    return this.options.mayBeMissing === true && this.#text === undefined && !existsSync(this.file);
  }

  /** @returns how many tokens the text has */
  #use(text: string): number {
    const tokens = parseTokens(text, this.file);
    this.tokens = [...(this.options.configured ?? []), ...tokens];
    this.#text = text;
    this.#complaint = undefined;
    return tokens.length;
  }
}
