import { parseDatabaseUrl } from './database-url.js';

describe('The URL of a PostgreSQL database', () => {
  it.each([
    ['postgres://u@localhost/plants', false],
    ['postgresql://u:p%40ss@127.0.0.1:5433/plants', false],
    ['postgres:///plants?host=/run/postgresql', false],
    ['postgres://u:p@%2Frun%2Fpostgresql/plants', false],
    ['postgres://u:p@a/plants?host=/run/postgresql', false],
    ['postgres://localhost/plants?application_name=a&options=-csearch_path%3Da', false],
    ['postgres://u@a/plants?sslmode=verify-ca&sslrootcert=a', false],
    ['postgres://u:p@a/plants?sslmode=disable', false],
    ['postgres://u:p@a/plants', true],
    ['postgres://u:p@a/plants?sslmode=', true],
    ['postgres://u:p@localhost/plants?host=a', true],
    ['postgres://u:p@127.example.com/plants', true],
    // As the consoles of Neon, Supabase, Heroku, RDS and Azure show it.
    ['postgresql://a:b@ep-x.eu-central-1.aws.neon.tech/neondb?sslmode=require&channel_binding=require', false],
    ['postgres://postgres.x:b@aws-0-eu-central-1.pooler.supabase.com:6543/postgres?pgbouncer=true', true],
    ['postgres://a:b@ec2-1-2-3-4.eu-west-1.compute.amazonaws.com:5432/d1', true],
    ['postgresql://a:b@x.eu-west-1.rds.amazonaws.com:5432/plants?sslmode=verify-full&sslrootcert=ca.pem', false],
    ['postgresql://a:b@x.postgres.database.azure.com:5432/plants?sslmode=prefer&connect_timeout=10', false],
  ])('may be %s, and lacks sslmode: %s', (url, lacksSslMode) => {
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
  ])('must not be %s', (url) => expect(parseDatabaseUrl(url)).toBeUndefined());

  it('is shown to operators without user, password and parameters', () => {
    expect(parseDatabaseUrl('postgresql://user:secret@db.example.com:5433/plants?sslmode=disable')).toMatchObject({
      name: 'postgresql://db.example.com:5433/plants',
    });
  });
});

describe('The URL of a SQLite database', () => {
  it.each([
    ['sqlite:data/plants.db', 'data/plants.db'],
    ['sqlite:/data/my plants.db  ', '/data/my plants.db'],
    ['sqlite:///data/plants.db', '///data/plants.db'],
    ['sqlite:memory', 'memory'],
    ['sqlite::memory:/plants.db', ':memory:/plants.db'],
    ['sqlite::memory: ', undefined],
  ])('%j leads to the file %j', (url, file) => {
    expect(parseDatabaseUrl(url)).toEqual({ engine: 'sqlite', name: url.trim(), file });
  });

  it.each([
    'sqlite://data/plants.db',
    'sqlite:',
    'sqlite:data/',
    'sqlite:data/ ',
    'sqlite: a',
    'SQLITE:a',
    'a sqlite:b',
  ])('must not be %j', (url) => expect(parseDatabaseUrl(url)).toBeUndefined());
});
