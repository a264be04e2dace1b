import { existsSync } from 'node:fs';
import { Logger } from '@nestjs/common';
import { watchFiles } from '../files/watch-files.js';
import { type StaticToken, StaticTokens } from './static-tokens.js';
import { parseTokens, readTokenFile } from './token-file.js';
import { TokenVerifier, type VerificationResult } from './token-verifier.js';

/** Milliseconds after which an unchanged file is read again, so that `lastRead` tells whether it can be read. */
const READ_INTERVAL = 60_000;

interface TokenFileOptions {
  /** Tokens that are valid in addition to those of the file. */
  readonly configured?: readonly StaticToken[];
  /** True if the file may be missing until the first token is created. */
  readonly mayBeMissing?: boolean;
}

/** The content of the file when it was last read in full. */
interface Content {
  readonly text: string;
  /** The tokens of the text, and the configured ones. */
  readonly tokens: StaticTokens;
  readonly readAt: Date;
}

type State =
  | { readonly name: 'unread'; readonly content?: undefined }
  | { readonly name: 'in use'; readonly content: Content }
  | { readonly name: 'failing'; readonly content: Content | undefined };

/** Completes the line of the log when the file has been read, by the state before that. */
const NEWS_AFTER: Readonly<Record<State['name'], string>> = {
  unread: 'is in use',
  'in use': 'has changed',
  failing: 'can be used again',
};

/**
 * Verifies the static tokens of a file. PlantsModule reads the file when it starts. Later, it is reloaded when it has
 * changed, after each minute without a change, and when the service gets SIGHUP.
 *
 * | state   | the file           | the valid tokens                  |
 * |---------|--------------------|-----------------------------------|
 * | unread  | was never read     | those of the options              |
 * | in use  | was read last time | those of the options and the file |
 * | failing | could not be used  | the same as before                |
 *
 * Every reading leads to `in use`, and every reload that fails to `failing`.
 *
 * A verifier belongs to one application: when the application closes, the file is no longer reloaded.
 */
export class TokenFileVerifier extends TokenVerifier {
  readonly #logger = new Logger('Authentication');
  readonly #configured: StaticTokens;
  #state: State = { name: 'unread' };
  #stopReloading = (): void => undefined;

  constructor(
    private readonly file: string,
    private readonly options: TokenFileOptions = {},
  ) {
    super();
    this.#configured = new StaticTokens(options.configured ?? []);
  }

  /** When the file was last read in full; undefined if never. Without a fault, this is at most a minute ago. */
  get lastRead(): Date | undefined {
    return this.#state.content?.readAt;
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
    const content = this.#read();
    if (content !== undefined) this.#state = { name: 'in use', content };
  }

  /** Reads the file again. If the file cannot be used, logs the reason and keeps the tokens. */
  reload(): void {
    const before = this.#state;
    try {
      const content = this.#read();
      if (content === undefined) return;
      this.#state = { name: 'in use', content };
      if (before.name === 'in use' && before.content.text === content.text) return;
      this.#logger.log(`${this.file} ${NEWS_AFTER[before.name]}; number of tokens now: ${this.count}`);
    } catch (error) {
      this.#state = { name: 'failing', content: before.content };
      this.#logger.error(`${(error as Error).message}; keeping the tokens read before`);
    }
  }

  override onModuleInit(): void {
    // Nest calls it twice if the verifier is also a provider of the host.
    this.#stopReloading();
    // The program has read the file already, to report a fault before it opens its ports.
    if (this.#state.content === undefined) this.load();
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

  get #tokens(): StaticTokens {
    return this.#state.content?.tokens ?? this.#configured;
  }

  /**
   * Reads the file.
   *
   * @returns undefined if it is missing, as the options may allow until it has been read
   * @throws {OperatorError} if it cannot be used
   */
  #read(): Content | undefined {
    const { content } = this.#state;
    if (content === undefined && this.options.mayBeMissing === true && !existsSync(this.file)) return undefined;
    const text = readTokenFile(this.file);
    const tokens = text === content?.text ? content.tokens : this.#parse(text);
    return { text, tokens, readAt: new Date() };
  }

  #parse(text: string): StaticTokens {
    return new StaticTokens([...(this.options.configured ?? []), ...parseTokens(text, this.file)]);
  }
}
