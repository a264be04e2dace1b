/** Settings of a store beside its URL. */
export interface DatabaseOptions {
  /** Milliseconds that a batch may wait for a lock or for a server to answer. */
  readonly timeout: number;
  /** Milliseconds that the start waits for a server that cannot be reached yet. SQLite does not use it. */
  readonly startTimeout: number;
  /** Maximum number of connections to a server, and so of batches in flight. SQLite does not use it. */
  readonly poolSize: number;
}

export const DATABASE_DEFAULTS: DatabaseOptions = { timeout: 5_000, startTimeout: 30_000, poolSize: 4 };

/** The modes of libpq without `allow` and `prefer`, which let an attacker on the network disable TLS. */
export const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full'];

/** Returns whether `openRepository` accepts this URL. */
export function isDatabaseUrl(url: string): boolean {
  return sqliteFile(url) !== undefined || isPostgresUrl(url);
}

/** Returns the path in a SQLite URL, or `:memory:`; undefined for the URL of another engine. */
export function sqliteFile(url: string): string | undefined {
  // better-sqlite3 trims file names. Trimming here makes the two drivers, and the checks of the files, agree.
  return /^sqlite:(\S.*)$/.exec(url)?.[1]?.trimEnd();
}

export function isPostgresUrl(url: string): boolean {
  if (!/^postgres(?:ql)?:\/\//.test(url) || !URL.canParse(url)) return false;
  return SSL_MODES.includes(new URL(url).searchParams.get('sslmode') ?? 'disable');
}
