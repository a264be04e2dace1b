import type { DatabaseOptions } from './database-options.js';
import type { PlantRepository, PlantSnapshot } from './plant-repository.js';
import { POSTGRES } from './postgres-engine.js';
import { SQLITE } from './sqlite-engine.js';

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
export const DATABASE_URL_FORMS = [...new Set(ENGINES.values())].map(({ form }) => form).join(' or ');

/** Returns the engine that accepts a URL; undefined if none does. */
export function engineOf(url: string): Engine | undefined {
  const engine = ENGINES.get(url.slice(0, url.indexOf(':')));
  return engine?.accepts(url) === true ? engine : undefined;
}

/** Returns whether `openRepository` accepts this URL. */
export function isDatabaseUrl(url: string): boolean {
  return engineOf(url) !== undefined;
}

/** Returns the URL of a database without user, password and parameters. */
export function databaseName(url: string): string {
  return engineOf(url)?.nameOf(url) ?? '';
}

/** Returns whether two URLs certainly name the same database. */
export function isSameDatabase(url: string, other: string): boolean {
  const engine = engineOf(url);
  return engine !== undefined && engine === engineOf(other) && engine.placeOf(url) === engine.placeOf(other);
}
