import { isInMemory, parseDatabaseUrl } from './database-url.js';

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
    expect(parseDatabaseUrl(url)).toMatchObject({ engine: 'postgres', href: url });
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
    expect(parseDatabaseUrl(url)).toBeUndefined();
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
  ])('of %s leaves TLS open: %s', (url, lacks) => {
    expect(parseDatabaseUrl(url)).toMatchObject({ lacksSslMode: lacks });
  });

  it.each([
    ['sqlite:data/plants.db', 'data/plants.db'],
    ['sqlite:/data/my plants.db  ', '/data/my plants.db'],
    ['sqlite:///data/plants.db', '///data/plants.db'],
    ['sqlite:memory', 'memory'],
    ['sqlite::memory:/plants.db', ':memory:/plants.db'],
  ])('%j leads to the file %j', (url, file) => {
    const parsed = parseDatabaseUrl(url);
    expect(parsed).toEqual({ engine: 'sqlite', name: `sqlite:${file}`, file });
    expect(parsed && isInMemory(parsed)).toBe(false);
  });

  it.each(['sqlite::memory:', 'sqlite::memory: '])('%j names a database in memory', (url) => {
    const parsed = parseDatabaseUrl(url);
    expect(parsed).toEqual({ engine: 'sqlite', name: 'sqlite::memory:', file: undefined });
    expect(parsed && isInMemory(parsed)).toBe(true);
  });

  it.each([
    'sqlite://data/plants.db',
    'sqlite:',
    'sqlite:data/',
    'sqlite:data/ ',
    'sqlite: a',
    'SQLITE:a',
    'a sqlite:b',
    'postgres://a@localhost/plants?constructor=1',
    'postgres://a@localhost/plants?__proto__=1',
  ])('%j names no database', (url) => expect(parseDatabaseUrl(url)).toBeUndefined());

  it('is shown to operators without user, password and parameters', () => {
    expect(parseDatabaseUrl('postgresql://user:secret@db.example.com:5433/plants?sslmode=disable')).toMatchObject({
      name: 'postgresql://db.example.com:5433/plants',
    });
  });
});
