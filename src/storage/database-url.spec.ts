import { isInMemory, parseDatabaseUrl } from './database-url.js';

describe('The URL of a database', () => {
  it.each([
    'postgres://u@localhost/plants',
    'postgresql://u:p%40ss@localhost:5433/plants',
    'postgres:///plants?host=/run/postgresql',
    'postgres://localhost/plants?application_name=a&options=-csearch_path%3Da',
    'postgres://u@a/plants?sslmode=verify-ca&sslrootcert=a',
  ])('may be %s', (url) => {
    expect(parseDatabaseUrl(url)).toMatchObject({ engine: 'postgres', href: url, lacksSslMode: false });
  });

  it.each([
    ['Neon', 'postgresql://a:b@ep-x.eu-central-1.aws.neon.tech/neondb?sslmode=require&channel_binding=require', false],
    ['Supabase', 'postgres://postgres.x:b@aws-0-eu-central-1.pooler.supabase.com:6543/postgres?pgbouncer=true', true],
    ['Heroku', 'postgres://a:b@ec2-1-2-3-4.eu-west-1.compute.amazonaws.com:5432/d1', true],
    ['RDS', 'postgresql://a:b@x.eu-west-1.rds.amazonaws.com:5432/plants?sslmode=verify-full&sslrootcert=ca.pem', false],
    ['Azure', 'postgresql://a:b@x.postgres.database.azure.com:5432/plants?sslmode=prefer&connect_timeout=10', false],
  ])('may be one that the console of %s shows, if it has sslmode', (_, url, lacksSslMode) => {
    expect(parseDatabaseUrl(` ${url} `)).toMatchObject({ engine: 'postgres', href: url, lacksSslMode });
  });

  it.each([
    'mysql://u@a/plants',
    'postgres:plants',
    'postgres://u@a/plants#b',
    'postgres://u@azure:p@a/plants',
    'postgres://u:p/w@a/plants',
    'postgres://u:p?w@a/plants',
    '"postgres://u@localhost/plants"',
  ])('must not be %s', (url) => {
    expect(parseDatabaseUrl(url)).toBeUndefined();
  });

  it.each([
    ['postgres://u:p@a/plants', true],
    ['postgres://u:p@10.0.0.1/plants?application_name=a', true],
    ['postgres://u:p@a/plants?sslmode=disable', false],
    ['postgres://u:p@127.0.0.1/plants', false],
    ['postgres://u:p@localhost/plants', false],
    ['postgres://u:p@127.example.com/plants', true],
    ['postgres://u:p@a/plants?host=/run/postgresql', false],
    ['postgres://u:p@%2Frun%2Fpostgresql/plants', false],
    ['postgres://u:p@localhost/plants?host=a', true],
    ['postgres://u:p@a/plants?sslmode=', true],
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
  ])('%j names no database', (url) => expect(parseDatabaseUrl(url)).toBeUndefined());

  it('is shown to operators without user, password and parameters', () => {
    expect(parseDatabaseUrl('postgresql://user:secret@db.example.com:5433/plants?sslmode=disable')).toMatchObject({
      name: 'postgresql://db.example.com:5433/plants',
    });
  });
});
