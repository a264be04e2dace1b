import { databaseName, isDatabaseUrl, isInMemory, isPostgresUrl, lacksSslMode, sqliteFile } from './database-url.js';

describe('The URL of a database', () => {
  it.each([
    'postgres://u@localhost/plants',
    'postgresql://u:p%40ss@localhost:5433/plants',
    'postgres://localhost/plants?application_name=a&options=-csearch_path%3Da',
    'postgres://u@localhost/plants?host=/run/postgresql',
    'postgres://u@a/plants?sslmode=disable',
    'postgres://u@a/plants?sslmode=require&sslcert=a&sslkey=b',
    'postgres://u@a/plants?sslmode=verify-ca&sslrootcert=a',
    'postgres://u@a/plants?sslmode=verify-full',
  ])('may be %s', (url) => {
    expect([isPostgresUrl(url), isDatabaseUrl(url), sqliteFile(url)]).toEqual([true, true, undefined]);
  });

  it.each([
    'mysql://u@a/plants',
    'postgres:plants',
    'postgres://u@a/plants#b',
    'postgres://u@a/plants?sslmode=allow',
    'postgres://u@a/plants?sslmode=prefer',
    'postgres://u@a/plants?sslmode=verify-ca',
    'postgres://u@a/plants?sslmode=no-verify',
    'postgres://u@a/plants?sslmode=',
    'postgres://u@a/plants?host=b',
    'postgres://u@a/plants?user=b',
    'postgres://u@a/plants?application_name=a&application_name=b',
    'postgres://u:%zz@a/plants',
    'postgres://u@a/%zz',
  ])('must not be %s', (url) => {
    expect([isPostgresUrl(url), isDatabaseUrl(url)]).toEqual([false, false]);
  });

  it.each([
    ['postgres://u:p@a/plants', true],
    ['postgresql://u:p@a/plants', true],
    ['postgres://u:p@10.0.0.1/plants?application_name=a', true],
    ['postgres://u:p@a/plants?sslmode=disable', false],
    ['postgres://u:p@127.0.0.1/plants', false],
    ['postgres://u:p@localhost/plants', false],
    ['postgres://u:p@[::1]/plants', false],
    ['postgres://u:p@127.example.com/plants', true],
    ['postgres://u:p@a/plants?host=/run/postgresql', false],
    ['postgres://u:p@%2Frun%2Fpostgresql/plants', false],
    ['postgres://u:p@%2frun%2fpostgresql/plants', false],
    ['sqlite:plants.db', false],
  ])('of %s leaves TLS open: %s', (url, lacks) => expect(lacksSslMode(url)).toBe(lacks));

  it.each([
    ['sqlite:data/plants.db', 'data/plants.db'],
    ['sqlite:/data/my plants.db  ', '/data/my plants.db'],
    ['sqlite::memory:', undefined],
    ['sqlite::memory: ', undefined],
    ['sqlite:///data/plants.db', '///data/plants.db'],
    ['sqlite://data/plants.db', undefined],
    ['sqlite:', undefined],
    ['sqlite:data/', undefined],
    ['sqlite:data/ ', undefined],
    ['sqlite: a', undefined],
    ['SQLITE:a', undefined],
    ['a sqlite:b', undefined],
  ])('%j leads to the file %j', (url, file) => expect(sqliteFile(url)).toBe(file));

  it.each([
    ['sqlite::memory:', true],
    ['sqlite::memory: ', true],
    ['sqlite::memory:/plants.db', false],
    ['sqlite:memory', false],
  ])('%j names a database, in memory: %s', (url, expected) => {
    expect([isDatabaseUrl(url), isInMemory(url)]).toEqual([true, expected]);
  });

  it('is shown to operators without user, password and parameters', () => {
    expect(databaseName('postgresql://user:secret@db.example.com:5433/plants?sslmode=disable')).toBe(
      'postgresql://db.example.com:5433/plants',
    );
    expect(databaseName('sqlite:data/plants.db')).toBe('sqlite:data/plants.db');
  });
});
