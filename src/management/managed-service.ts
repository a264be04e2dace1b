import type { StaticTokens } from '../auth/static-tokens.js';
import type { GroupCommit } from '../storage/group-commit.js';

/** The service as the management listener sees it. It is a class, so that it is its own injection token. */
export abstract class ManagedService {
  abstract readonly version: string;
  /** {base_url}, to which the docs page sends plants; undefined until the public port listens. */
  abstract readonly baseUrl: string | undefined;
  abstract readonly groupCommit: Pick<GroupCommit, 'depth'>;
  abstract readonly tokens: Pick<StaticTokens, 'nextExpiry'>;
  /** The certificate of the public port, if it has one. */
  abstract readonly certificate: { readonly expires: Date } | undefined;

  /** @throws {Error} with the reason, while the service takes no plants */
  abstract assertReady(): Promise<void>;
}
