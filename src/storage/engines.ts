import { type PlantRepository, type PlantSnapshot, RepositoryStartError } from './plant-repository.js';
import { POSTGRES } from './postgres-engine.js';
import { SQLITE } from './sqlite-engine.js';

/** Settings of a store beside its URL. */
export interface DatabaseOptions {
  /** Milliseconds that a batch may wait for a lock or for a server to answer. */
  readonly timeout: number;
  /** Milliseconds that the start waits for a server that cannot be reached yet. SQLite does not use it. */
  readonly startTimeout: number;
  /** Called once if the start waits, with the reason in one line for the operator. */
  readonly onWait?: (reason: string) => void;
}

export const DATABASE_DEFAULTS: DatabaseOptions = { timeout: 5_000, startTimeout: 30_000 };

/** An engine of databases. Each function gets a URL that the engine accepts; loading the driver is up to the last three. */
export interface Engine {
  /** The form of a URL, for a message. */
  readonly form: string;
  accepts(url: string): boolean;
  /** Returns the URL for an operator, without user, password and parameters. */
  nameOf(url: string): string;
  /** Returns a text that is the same for all URLs of a database. */
  placeOf(url: string): string;
  /** Opens a database, and brings its schema up to date. */
  open(url: string, options: DatabaseOptions): Promise<PlantRepository>;
  /** Takes a snapshot, and changes nothing; undefined if there is no table of plants. */
  openSnapshot(url: string, options: DatabaseOptions): Promise<PlantSnapshot | undefined>;
  /** Checks that `open` would succeed, and changes nothing. Returns whether there is a table of plants. */
  check(url: string, options: DatabaseOptions): Promise<boolean>;
}

/** The engine of each scheme. */
const ENGINES = new Map([
  ['sqlite', SQLITE],
  ['postgres', POSTGRES],
  ['postgresql', POSTGRES],
]);

/** The forms of the URLs of all engines, for a message. */
const DATABASE_URL_FORMS = [...new Set(ENGINES.values())].map(({ form }) => form).join(' or ');

/** @throws {RepositoryStartError} when no engine accepts the URL */
export function engineOf(url: string): Engine {
  const engine = engineOfScheme(url);
  if (engine?.accepts(url) === true) return engine;
  throw new RepositoryStartError(`a database URL must be of the form ${DATABASE_URL_FORMS}`);
}

/** Returns whether `openRepository` accepts this URL. */
export function isDatabaseUrl(url: string): boolean {
  return engineOfScheme(url)?.accepts(url) === true;
}

/** Returns the URL of a database without user, password and parameters. */
export function databaseName(url: string): string {
  return engineOf(url).nameOf(url);
}

/** Returns whether two URLs certainly name the same database. */
export function isSameDatabase(url: string, other: string): boolean {
  const engine = engineOf(url);
  return engine === engineOf(other) && engine.placeOf(url) === engine.placeOf(other);
}

function engineOfScheme(url: string): Engine | undefined {
  return ENGINES.get(url.slice(0, url.indexOf(':')));
}
