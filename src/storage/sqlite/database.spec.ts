import { isLocked, isUnavailable } from './database.js';

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
  ])('such as %s (%i) is %s', (_, errcode, kind) => {
    const error = Object.assign(new Error('its reason'), { errcode });

    expect(isLocked(error)).toBe(kind === 'transient');
    expect(isUnavailable(error)).toBe(kind === 'transient' || kind === 'lasting');
  });
});
