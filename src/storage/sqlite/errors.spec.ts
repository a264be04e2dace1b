import { describeSqliteError, FilesNotInPlaceError, sqliteFailure, sqliteStartError } from './errors.js';

/** Returns an error of SQLite. */
function errorOf(errcode: number): Error {
  return Object.assign(new Error('its reason'), { errcode });
}

describe('An error of SQLite', () => {
  it.each([
    ['SQLITE_BUSY', 5, 'transient', 'stop the other process that uses it'],
    ['SQLITE_BUSY_RECOVERY', 261, 'transient', 'stop the other process that uses it'],
    ['SQLITE_BUSY_SNAPSHOT', 517, 'transient', 'stop the other process that uses it'],
    ['SQLITE_LOCKED', 6, 'transient', 'stop the other process that uses it'],
    ['SQLITE_PROTOCOL', 15, 'transient', 'stop the other process that uses it'],
    ['SQLITE_READONLY', 8, 'unavailable', 'this user must be able to write the file and its directory'],
    ['SQLITE_READONLY_DBMOVED', 1_032, 'unavailable', 'this user must be able to write the file and its directory'],
    ['SQLITE_CANTOPEN', 14, 'unavailable', 'this user must be able to write the file and its directory'],
    ['SQLITE_CORRUPT', 11, 'unavailable', 'restore a backup or name another file'],
    ['SQLITE_NOTADB', 26, 'unavailable', 'restore a backup or name another file'],
    ['SQLITE_NOMEM', 7, 'unavailable', undefined],
    ['SQLITE_IOERR', 10, 'unavailable', undefined],
    ['SQLITE_IOERR_WRITE', 778, 'unavailable', undefined],
    ['SQLITE_FULL', 13, 'unavailable', undefined],
    ['SQLITE_ERROR', 1, undefined, 'if another program made its table plants, name another file'],
    ['SQLITE_CONSTRAINT_NOTNULL', 1_299, undefined, 'if another program made its table plants, name another file'],
    ['SQLITE_MISMATCH', 20, undefined, 'if another program made its table plants, name another file'],
    ['SQLITE_MISUSE', 21, undefined, undefined],
  ] as const)('such as %s (%i) has the failure and the advice %s, %s', (_, code, failure, advice) => {
    const words = advice === undefined ? 'its reason' : `its reason; ${advice}`;
    expect(sqliteFailure(errorOf(code))).toBe(failure);
    expect(describeSqliteError(errorOf(code))).toBe(words);
    expect(sqliteStartError('plants.db', errorOf(code)).message).toBe(
      `the database plants.db cannot be used: ${words}`,
    );
  });

  it.each(['no such table: main.plants', 'no such column: tag', 'table plants has no column named tag'])(
    'such as %s makes the store unavailable',
    (message) => {
      expect(sqliteFailure(Object.assign(new Error(message), { errcode: 1 }))).toBe('unavailable');
    },
  );

  it('may come from the files instead, and is a defect otherwise', () => {
    expect(sqliteFailure(new FilesNotInPlaceError())).toBe('unavailable');
    expect(sqliteFailure(Object.assign(new Error('EACCES'), { syscall: 'stat' }))).toBe('unavailable');
    for (const defect of [new TypeError('a'), 'a text', undefined]) expect(sqliteFailure(defect)).toBeUndefined();
  });
});
