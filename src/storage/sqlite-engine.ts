import type { Engine } from './open-repository.js';

export const SQLITE: Engine = {
  form: 'sqlite:data/plants.db',
  accepts: (url) => /^sqlite:\S.*$/.test(url),
  nameOf: (url) => url,
  load: () => import('./sqlite-repository.js'),
};

/** Returns the path in a SQLite URL, or `:memory:`; undefined for the URL of another engine. */
export function sqliteFile(url: string): string | undefined {
  return SQLITE.accepts(url) ? fileOf(url) : undefined;
}

/** Spaces at the end are a slip, and would name another file than the one that the operator sees. */
export function fileOf(url: string): string {
  return url.slice('sqlite:'.length).trimEnd();
}
