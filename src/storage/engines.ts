import { isLoopbackHost } from '../loopback-host.js';
import { OperatorError } from '../operator-error.js';
import { readRegularFile } from '../files/regular-file.js';
import type { PlantRepository, PlantSnapshot } from './plant-repository.js';

/** Settings of a store beside its URL. */
export interface DatabaseOptions {
  /** Milliseconds that a batch may wait for a lock or for a server to answer. */
  readonly timeout: number;
  /** Milliseconds that the start waits for a server that cannot be reached yet. SQLite does not use it. */
  readonly startTimeout: number;
  /** Whether the directory of a SQLite database is created if it is missing. */
  readonly createsDirectory?: boolean;
  /** Called once if the start waits, with the reason in one line for the operator. */
  readonly onWait?: (reason: string) => void;
}

export const DATABASE_DEFAULTS: DatabaseOptions = { timeout: 5_000, startTimeout: 30_000 };

/** An engine of databases. Each function gets a URL that the engine accepts. */
interface Engine {
  readonly schemes: readonly string[];
  accepts(url: string): boolean;
  /** Returns the URL for an operator, without user, password and parameters. */
  nameOf(url: string): string;
  /** Checks the files that the URL names, and loads the driver. */
  load(url: string): Promise<Driver>;
}

/** The functions of an engine that need its driver; see those of the same names below. */
interface Driver {
  openRepository(url: string, options: DatabaseOptions): Promise<PlantRepository>;
  openSnapshot(url: string, options: DatabaseOptions): Promise<PlantSnapshot | undefined>;
  tryOutDatabase(url: string, options: DatabaseOptions): Promise<boolean>;
}

const SQLITE: Engine = {
  schemes: ['sqlite'],
  accepts: (url) => /^sqlite:\S.*$/.test(url),
  nameOf: (url) => url,
  load: () => import('./sqlite-repository.js'),
};

/**
 * The parameters of a PostgreSQL URL, and their values. The driver would take any other one for a setting of its own. The
 * modes are those of libpq without `allow` and `prefer`, which let an attacker on the network disable TLS.
 */
const POSTGRES_PARAMETERS: Readonly<Record<string, RegExp>> = {
  application_name: /./,
  // A socket's directory.
  host: /^\//,
  options: /./,
  sslcert: /./,
  sslkey: /./,
  sslmode: /^(?:disable|require|verify-ca|verify-full)$/,
  sslrootcert: /./,
};

/** What a URL must be, for a message. */
export const DATABASE_URL_RULE =
  'a URL that begins with sqlite: or postgres://, where user and password are percent-encoded (p@ss is p%40ss), sslmode ' +
  'is disable, require, verify-ca (with sslrootcert) or verify-full, and other parameters are ' +
  `${Object.keys(POSTGRES_PARAMETERS)
    .filter((name) => !name.startsWith('sslmode'))
    .join(', ')} alone, ` +
  'for example sqlite:data/plants.db or postgres://user@localhost/plants';

/** What the URL of a server on another machine must have, for a message. */
export const SSL_MODE_RULE =
  'sslmode, because its server is on another machine: verify-full, with sslrootcert for an authority of your own; or ' +
  'disable in a network where nobody can read passwords, for example postgres://user@db.example.com/plants?sslmode=verify-full';

/**
 * A URL with at most one @, which ends user and password (RFC 3986 §3.2.1). In a password, an @ is ambiguous, and one of
 * / ? # would end the host: the client would look for another server, and name a part of the password as its host.
 */
const POSTGRES_URL = /^postgres(?:ql)?:\/\/(?:[^/?#@]*@)?[^#@]*$/;

const POSTGRES: Engine = {
  schemes: ['postgres', 'postgresql'],
  accepts(url) {
    if (!POSTGRES_URL.test(url) || !URL.canParse(url)) return false;
    const { username, password, hostname, pathname, searchParams } = new URL(url);
    const parameters = [...searchParams];
    return (
      [username, password, hostname, pathname].every(canDecode) &&
      parameters.every(([name, value]) => POSTGRES_PARAMETERS[name]?.test(value) === true) &&
      // Of a repeated one, the driver takes the last value.
      new Set(searchParams.keys()).size === parameters.length &&
      (searchParams.get('sslmode') !== 'verify-ca' || searchParams.has('sslrootcert'))
    );
  },
  nameOf: postgresName,
  async load(url) {
    const { searchParams } = new URL(url);
    for (const name of ['sslrootcert', 'sslcert', 'sslkey']) {
      const file = searchParams.get(name);
      if (file !== null) readRegularFile(file, name === 'sslkey' ? 'secret' : 'public');
    }
    return import('./postgres-repository.js').catch(refuseMissingPackage);
  },
};

const ENGINES = [SQLITE, POSTGRES];

/**
 * Opens the store that a URL names, creates what does not exist yet, and brings its schema up to date.
 *
 * @param url `sqlite:` and a path, relative to the working directory, or `sqlite::memory:`; or `postgres://…`, where the
 *   database must exist
 * @throws {OperatorError} when it cannot be opened; the message is one line for the operator
 */
export async function openRepository(url: string, options: Partial<DatabaseOptions> = {}): Promise<PlantRepository> {
  const driver = await engineOf(url).load(url);
  return driver.openRepository(url, { ...DATABASE_DEFAULTS, ...options });
}

/** Takes a snapshot, and changes nothing; undefined if there is no store, or no table of plants in it. */
export async function openSnapshot(url: string, options: DatabaseOptions): Promise<PlantSnapshot | undefined> {
  return (await engineOf(url).load(url)).openSnapshot(url, options);
}

/**
 * Refuses a database that `openRepository` refuses, and changes nothing.
 *
 * @returns whether the table of plants is there; `openRepository` creates it
 * @throws {OperatorError} with one line for the operator
 */
export async function tryOutDatabase(url: string, options: DatabaseOptions): Promise<boolean> {
  return (await engineOf(url).load(url)).tryOutDatabase(url, options);
}

/** Returns whether `openRepository` accepts this URL. */
export function isDatabaseUrl(url: string): boolean {
  return engineOfScheme(url)?.accepts(url) === true;
}

/** Returns whether a URL names a server on another machine, and leaves it open whether a password travels in clear text. */
export function lacksSslMode(url: string): boolean {
  if (!POSTGRES.accepts(url)) return false;
  const { hostname, searchParams } = new URL(url);
  const isSocket = searchParams.has('host') || hostname.toLowerCase().startsWith('%2f');
  return !isSocket && !isLoopbackHost(hostname) && !searchParams.has('sslmode');
}

/** Returns the URL of a database without user, password and parameters. */
export function databaseName(url: string): string {
  return engineOf(url).nameOf(url);
}

/** Returns the path in a SQLite URL, or `:memory:`; undefined for the URL of another engine. */
export function sqliteFile(url: string): string | undefined {
  return SQLITE.accepts(url) ? pathOf(url) : undefined;
}

/** Returns the path in a SQLite URL. Spaces at the end are a slip, and would name another file than the operator sees. */
export function pathOf(url: string): string {
  return url.slice('sqlite:'.length).trimEnd();
}

/** Returns the URL of a PostgreSQL database without user, password and parameters. */
export function postgresName(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

/** @throws {OperatorError} when no engine accepts the URL */
function engineOf(url: string): Engine {
  const engine = engineOfScheme(url);
  if (engine?.accepts(url) !== true) throw new OperatorError(`a database URL must be ${DATABASE_URL_RULE}`);
  if (lacksSslMode(url)) throw new OperatorError(`a database URL must have ${SSL_MODE_RULE}`);
  return engine;
}

function engineOfScheme(url: string): Engine | undefined {
  const scheme = url.slice(0, url.indexOf(':'));
  return ENGINES.find(({ schemes }) => schemes.includes(scheme));
}

function canDecode(text: string): boolean {
  try {
    // Uses the result, without which Rolldown 1.2 removes the call.
    return decodeURIComponent(text).length <= text.length;
  } catch {
    return false;
  }
}

/** A host installs the package `pg` only if it uses PostgreSQL. */
function refuseMissingPackage(error: unknown): never {
  if (!(error instanceof Error && error.message.includes("'pg'"))) throw error;
  throw new OperatorError('the package pg is not installed: npm install pg', { cause: error });
}
