import type { OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { ReloadableTokens } from './reloadable-tokens.js';
import { TokenVerifier, type VerificationResult } from './token-verifier.js';

/**
 * Verifies static tokens of a file, which is reloaded when it changes. Each line has a name, `sha256:` and the digest of
 * the token in hexadecimal, and optionally the instant at which the token expires. PlantsModule opens and closes the file.
 */
export class FileTokens extends TokenVerifier implements OnModuleInit, OnApplicationShutdown {
  #tokens: ReloadableTokens | undefined;
  #stopWatching = (): void => undefined;

  constructor(private readonly file: string) {
    super();
  }

  /** @throws {TokenFileError} if the file cannot be used */
  async onModuleInit(): Promise<void> {
    this.#tokens = await ReloadableTokens.open({ accessTokens: [], accessTokensFile: this.file });
    // Two instances of the module may share the tokens.
    this.#stopWatching();
    this.#stopWatching = this.#tokens.watch();
  }

  onApplicationShutdown(): void {
    this.#stopWatching();
  }

  override verify(token: string): VerificationResult {
    return this.#tokens?.verify(token);
  }
}
