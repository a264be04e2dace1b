import { describe as explain, isLocked, isUnavailable } from './database.js';

/** Returns an error of SQLite. */
function errorOf(errcode: number, message = 'its reason'): Error {
  return Object.assign(new Error(message), { errcode });
}

describe('An error of SQLite', () => {
  it.each([
    ['SQLITE_BUSY', 5, 'transient'],
    ['SQLITE_BUSY_SNAPSHOT', 517, 'transient'],
    ['SQLITE_LOCKED', 6, 'transient'],
    ['SQLITE_PROTOCOL', 15, 'transient'],
    ['SQLITE_READONLY_DBMOVED', 1_032, 'lasting'],
    ['SQLITE_CANTOPEN', 14, 'lasting'],
    ['SQLITE_CORRUPT', 11, 'lasting'],
    ['SQLITE_NOTADB', 26, 'lasting'],
    ['SQLITE_NOMEM', 7, 'lasting'],
    ['SQLITE_IOERR_WRITE', 778, 'lasting'],
    ['SQLITE_FULL', 13, 'lasting'],
    ['SQLITE_ERROR', 1, 'of a plant, or a defect'],
    ['SQLITE_CONSTRAINT_NOTNULL', 1_299, 'of a plant, or a defect'],
    ['SQLITE_MISUSE', 21, 'of a plant, or a defect'],
  ])('such as %s (%i) is %s', (_, code, kind) => {
    expect(isLocked(errorOf(code))).toBe(kind === 'transient');
    expect(isUnavailable(errorOf(code))).toBe(kind === 'transient' || kind === 'lasting');
  });

  it.each(['no such table: main.plants', 'no such column: tag', 'table plants has no column named tag'])(
    'such as %s makes the store unavailable',
    (message) => expect(isUnavailable(errorOf(1, message))).toBe(true),
  );

  it('is explained where its message misleads', () => {
    expect(explain(errorOf(14, 'unable to open database file'))).toBe(
      'unable to open database file; this user must be able to write the file and its directory',
    );
    expect(explain(errorOf(13, 'database or disk is full'))).toBe('database or disk is full');
  });
});
