import { OperatorError } from '../contract/operator-error.js';
import { type PlantRepository, type PlantSnapshot } from './plant-repository.js';
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

/** An engine of databases. Each function gets a URL that the engine accepts. */
export interface Engine {
  /** The form of a URL, for a message. */
  readonly form: string;
  accepts(url: string): boolean;
  /** Returns the URL for an operator, without user, password and parameters. */
  nameOf(url: string): string;
  load(): Promise<Driver>;
}

/** The functions of an engine that need its driver. */
interface Driver {
  openRepository(url: string, options: DatabaseOptions): Promise<PlantRepository>;
  openSnapshot(url: string, options: DatabaseOptions): Promise<PlantSnapshot | undefined>;
  tryOutDatabase(url: string, options: DatabaseOptions): Promise<boolean>;
}

/** The engine of each scheme. */
const ENGINES = new Map([
  ['sqlite', SQLITE],
  ['postgres', POSTGRES],
  ['postgresql', POSTGRES],
]);

/** The forms of the URLs of all engines, for a message. */
const DATABASE_URL_FORMS = [...new Set(ENGINES.values())].map(({ form }) => form).join(' or ');

/**
 * Opens the store that a URL names, creates what does not exist yet, and brings its schema up to date.
 *
 * @param url `sqlite:` and a path, relative to the working directory, or `sqlite::memory:`; or `postgres://…`, where the
 *   database must exist
 * @throws {OperatorError} when it cannot be opened; the message is one line for the operator
 */
export async function openRepository(url: string, options: Partial<DatabaseOptions> = {}): Promise<PlantRepository> {
  const driver = await engineOf(url).load();
  return driver.openRepository(url, { ...DATABASE_DEFAULTS, ...options });
}

/** Takes a snapshot, and changes nothing; undefined if there is no store, or no table of plants in it. */
export async function openSnapshot(url: string, options: DatabaseOptions): Promise<PlantSnapshot | undefined> {
  return (await engineOf(url).load()).openSnapshot(url, options);
}

/**
 * Refuses a database that `openRepository` refuses, and changes nothing.
 *
 * @returns whether the table of plants is there; `openRepository` creates it
 * @throws {OperatorError} with one line for the operator
 */
export async function tryOutDatabase(url: string, options: DatabaseOptions): Promise<boolean> {
  return (await engineOf(url).load()).tryOutDatabase(url, options);
}

/** Returns whether `openRepository` accepts this URL. */
export function isDatabaseUrl(url: string): boolean {
  return engineOfScheme(url)?.accepts(url) === true;
}

/** Returns the URL of a database without user, password and parameters. */
export function databaseName(url: string): string {
  return engineOf(url).nameOf(url);
}

/** @throws {OperatorError} when no engine accepts the URL */
function engineOf(url: string): Engine {
  const engine = engineOfScheme(url);
  if (engine?.accepts(url) === true) return engine;
  throw new OperatorError(`a database URL must be of the form ${DATABASE_URL_FORMS}`);
}

function engineOfScheme(url: string): Engine | undefined {
  return ENGINES.get(url.slice(0, url.indexOf(':')));
}
