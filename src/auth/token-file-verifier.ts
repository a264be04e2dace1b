import { existsSync } from 'node:fs';
import { Logger } from '@nestjs/common';
import { watchFiles } from '../files/watch-files.js';
import { type ServiceTokens, type StaticToken, StaticTokens } from './static-tokens.js';
import { parseTokens, readTokenFile } from './token-file.js';
import { TokenVerifier, type VerificationResult } from './token-verifier.js';

/** Milliseconds after which the file is read again without a change, so that `lastRead` tells if it can be read. */
const READ_INTERVAL = 60_000;

interface TokenFileOptions {
  /** Tokens that are valid beside those of the file. */
  readonly configured?: readonly StaticToken[];
  /** True if there may be no such file before the first token is created. */
  readonly mayBeMissing?: boolean;
}

/** The content of the file when it was last read in full. */
interface Content {
  readonly text: string;
  /** The tokens of the text, and those that are configured beside them. */
  readonly tokens: StaticTokens;
  readonly readAt: Date;
}

/**
 * Verifies the static tokens of a file. PlantsModule reads the file when it starts. Later, it is reloaded when it has
 * changed, after each minute without a change, and when the service gets SIGHUP.
 *
 * | the file                               | the valid tokens                  | the log when it is read next |
 * |----------------------------------------|-----------------------------------|------------------------------|
 * | was never read (no `#content`)         | those of the options              | is in use                    |
 * | is in use                              | those of the options and the file | has changed, if it has       |
 * | could not be used last (`#isFailing`)  | the same as before                | can be used again            |
 *
 * It belongs to one application: when that closes, the file is no longer reloaded.
 */
export class TokenFileVerifier extends TokenVerifier implements ServiceTokens {
  readonly #logger = new Logger('Authentication');
  readonly #configured: StaticTokens;
  /** Undefined until the file is read for the first time. */
  #content: Content | undefined;
  /** True if the file could not be used when it was looked at last. */
  #isFailing = false;
  #stopReloading = (): void => undefined;

  constructor(
    private readonly file: string,
    private readonly options: TokenFileOptions = {},
  ) {
    super();
    this.#configured = new StaticTokens(options.configured ?? []);
  }

  /** When the file was last read in full; undefined before. Without a fault, this is less than a minute ago. */
  get lastRead(): Date | undefined {
    return this.#content?.readAt;
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
   * Reads the file. Before the first token is created, it may be missing.
   *
   * @throws {OperatorError} if it cannot be used
   */
  read(): void {
    if (this.#content === undefined && this.options.mayBeMissing === true && !existsSync(this.file)) return;
    const text = readTokenFile(this.file);
    const tokens = text === this.#content?.text ? this.#content.tokens : this.#parse(text);
    this.#content = { text, tokens, readAt: new Date() };
  }

  /** Reads the file again. If it cannot be used, the log says why, and the tokens stay as they are. */
  reload(): void {
    const before = this.#content;
    try {
      this.read();
    } catch (error) {
      this.#isFailing = true;
      this.#logger.error(`${(error as Error).message}; keeping the tokens read before`);
      return;
    }
    // It is still missing, and may be.
    if (this.#content === undefined) return;
    const change = this.#changeBetween(before, this.#content);
    if (change !== undefined) this.#logger.log(`${this.file} ${change}; number of tokens now: ${this.count}`);
    this.#isFailing = false;
  }

  override onModuleInit(): void {
    // Nest calls it twice if the verifier is also a provider of the host.
    this.#stopReloading();
    // The program has read the file already, to report a fault before it opens its ports.
    if (this.#content === undefined) this.read();
    const stopWatching = watchFiles([this.file], () => this.reload());
    const timer = setInterval(() => this.reload(), READ_INTERVAL).unref();
    this.#stopReloading = () => {
      stopWatching();
      clearInterval(timer);
    };
  }

  override onApplicationShutdown(): void {
    this.#stopReloading();
  }

  /** Returns what the log says of a file that was read; undefined if there is nothing new. */
  #changeBetween(before: Content | undefined, now: Content): string | undefined {
    if (this.#isFailing) return 'can be used again';
    if (before === undefined) return 'is in use';
    return now.text === before.text ? undefined : 'has changed';
  }

  get #tokens(): StaticTokens {
    return this.#content?.tokens ?? this.#configured;
  }

  #parse(text: string): StaticTokens {
    return new StaticTokens([...(this.options.configured ?? []), ...parseTokens(text, this.file)]);
  }
}
