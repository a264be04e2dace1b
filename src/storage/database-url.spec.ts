import { readDatabaseUrl } from './database-url.js';

describe('The URL of a PostgreSQL database', () => {
  it.each([
    ['postgres://u@localhost/plants', true],
    ['postgresql://u:p%40ss@127.0.0.1:5433/plants', true],
    ['postgres:///plants?host=/run/postgresql', true],
    ['postgres://u:p@%2Frun%2Fpostgresql/plants', true],
    ['postgres://u:p@a/plants?host=/run/postgresql', true],
    ['postgres://localhost/plants?application_name=a&options=-csearch_path%3Da', true],
    ['postgres://u@a/plants?sslmode=verify-ca&sslrootcert=a', true],
    ['postgres://u:p@a/plants?sslmode=disable', true],
    ['postgres://u:p@a/plants', false],
    ['postgres://u:p@a/plants?sslmode=', false],
    ['postgres://u:p@localhost/plants?host=a', false],
    ['postgres://u:p@127.example.com/plants', false],
    // As the consoles of Neon, Supabase, Heroku, RDS and Azure show it.
    ['postgresql://a:b@ep-x.eu-central-1.aws.neon.tech/neondb?sslmode=require&channel_binding=require', true],
    ['postgres://postgres.x:b@aws-0-eu-central-1.pooler.supabase.com:6543/postgres?pgbouncer=true', false],
    ['postgres://a:b@ec2-1-2-3-4.eu-west-1.compute.amazonaws.com:5432/d1', false],
    ['postgresql://a:b@x.eu-west-1.rds.amazonaws.com:5432/plants?sslmode=verify-full&sslrootcert=ca.pem', true],
    ['postgresql://a:b@x.postgres.database.azure.com:5432/plants?sslmode=prefer&connect_timeout=10', true],
  ])('may be %s, and has the sslmode that it needs: %s', (text, hasSslMode) => {
    if (hasSslMode) expect(readDatabaseUrl(` ${text} `)).toMatchObject({ engine: 'postgres', href: text });
    else expect(() => readDatabaseUrl(text)).toThrow(/^must have sslmode, /);
  });

  it.each([
    'mysql://u@a/plants',
    'postgres:plants',
    'postgres://u@a/plants#b',
    'postgres://u@azure:p@a/plants',
    'postgres://u:p/w@a/plants',
    'postgres://u:p?w@a/plants',
    '"postgres://u@localhost/plants"',
  ])('must not be %s', (url) => expect(() => readDatabaseUrl(url)).toThrow(/^must be a URL /));

  it('is shown to operators without user, password and parameters', () => {
    expect(readDatabaseUrl('postgresql://user:secret@db.example.com:5433/plants?sslmode=disable')).toMatchObject({
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
    expect(readDatabaseUrl(url)).toEqual({ engine: 'sqlite', name: url.trim(), file });
  });

  it.each([
    'sqlite://data/plants.db',
    'sqlite:',
    'sqlite:data/',
    'sqlite:data/ ',
    'sqlite: a',
    'SQLITE:a',
    'a sqlite:b',
  ])('must not be %j', (url) => expect(() => readDatabaseUrl(url)).toThrow(/^must be a URL /));
});
