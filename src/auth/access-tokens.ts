import { existsSync } from 'node:fs';
import { Logger } from '@nestjs/common';
import { digestOf, randomToken, type StaticToken, StaticTokens } from './static-tokens.js';
import { createTokenFile, lineOf, parseTokens, readTokenText, TokenFileError } from './token-file.js';

/** Milliseconds between two looks at the file; a change counts when the second of two finds it at rest. */
const POLL_INTERVAL = 100;

/** Looks after which a file that never rests counts as it is. */
const MAX_LOOKS = 5;

/** The name of the token that the first start makes. */
const FIRST = 'first-start';

const COMPLAINT = '\0';

/** The static tokens of a running service: those it was started with, and those of a file, which may change. */
export class AccessTokens extends StaticTokens {
  readonly #logger = new Logger('Authentication');
  readonly #listed: readonly StaticToken[];
  readonly #file: string | undefined;
  #first: string | undefined;
  /** What the last look found, see `textOf`. */
  #seen = '';
  /** What was last taken up. */
  #read = '';
  #looks = 0;

  private constructor(tokens: readonly string[], file: string | undefined) {
    const listed = tokens.map((token, index) => ({ name: `token-${index + 1}`, digest: digestOf(token) }));
    super(listed);
    this.#listed = listed;
    this.#file = file;
  }

  /**
   * Where nothing names tokens, those of the first start's file count. Where that is missing, too, there is one new
   * token, or none where other verifiers know some.
   *
   * @throws {TokenFileError} when the file cannot be used
   */
  static async open(settings: {
    /** In clear text. */
    readonly accessTokens: readonly string[];
    readonly accessTokensFile: string | undefined;
    readonly firstTokenFile: string;
    readonly others: boolean;
  }): Promise<AccessTokens> {
    const { accessTokens, accessTokensFile, firstTokenFile, others } = settings;
    const file = accessTokensFile ?? (accessTokens.length === 0 ? firstTokenFile : undefined);
    const opened = new AccessTokens(accessTokens, file);
    if (file === undefined) return opened;
    if (file === accessTokensFile || existsSync(file)) await opened.#load(file);
    else if (others) opened.#read = opened.#seen = await textOf(file);
    else opened.replace([{ name: FIRST, digest: digestOf((opened.#first = randomToken())) }]);
    return opened;
  }

  /**
   * Keeps the new token of a first start, once there is somebody who can be shown it.
   *
   * @returns the token; undefined where there is none, or where another first start was faster
   * @throws {TokenFileError} when the file cannot be used
   */
  async keepFirst(): Promise<string | undefined> {
    if (this.#first === undefined || this.#file === undefined) return undefined;
    const kept = createTokenFile(this.#file, lineOf(FIRST, this.#first));
    await this.#load(this.#file);
    return kept ? this.#first : undefined;
  }

  /** Takes up changes of the file from now on, until the returned function is called. */
  watch(): () => void {
    const file = this.#file;
    if (file === undefined) return () => undefined;
    let timer: NodeJS.Timeout | undefined;
    const wait = (): void => {
      // Polling also sees what no notification tells of: network disks, and links that are turned elsewhere.
      timer = setTimeout(() => void this.#look(file).then(() => timer && wait()), POLL_INTERVAL).unref();
    };
    wait();
    return () => {
      clearTimeout(timer);
      timer = undefined;
    };
  }

  /** Reads the file again, at once. Where it cannot be used, all stays as it was, and the log has the reason. */
  async reload(): Promise<void> {
    if (this.#file !== undefined) this.#take(await textOf(this.#file), this.#file);
  }

  async #load(file: string): Promise<void> {
    const text = await readTokenText(file);
    this.replace([...this.#listed, ...parseTokens(text, file)]);
    this.#read = this.#seen = text;
  }

  async #look(file: string): Promise<void> {
    const text = await textOf(file);
    const isAtRest = text === this.#seen;
    this.#seen = text;
    this.#looks = text === this.#read ? 0 : this.#looks + 1;
    // Who writes line by line has a moment in which the other lines are missing.
    if (isAtRest || this.#looks >= MAX_LOOKS) this.#take(text, file);
  }

  #take(text: string, file: string): void {
    this.#looks = 0;
    if (text === this.#read) return;
    this.#read = this.#seen = text;
    try {
      if (text.startsWith(COMPLAINT)) throw new TokenFileError(text.slice(COMPLAINT.length));
      const tokens = parseTokens(text, file);
      this.replace([...this.#listed, ...tokens]);
      this.#logger.log(`${file} has changed: tokens in it now: ${tokens.length}`);
    } catch (error) {
      if (!(error instanceof TokenFileError)) throw error;
      this.#logger.error(`${error.message}; until then the tokens read before stay valid`);
    }
  }
}

/** The text of the file; where it cannot be used, the reason, marked as what is no line of tokens. */
async function textOf(file: string): Promise<string> {
  try {
    return await readTokenText(file);
  } catch (error) {
    if (error instanceof TokenFileError) return `${COMPLAINT}${error.message}`;
    throw error;
  }
}
