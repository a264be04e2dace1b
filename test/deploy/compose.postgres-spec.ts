import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { create, CREATED } from '../support/client.js';
import { ROOT } from '../support/root.js';
import { PASSWORD, PostgresServer } from '../support/postgres.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';

/** The statements of the script, which psql reads on stdin. */
const [, STATEMENTS = ''] =
  /<<'EOSQL'\n\\set password .*\n([^]*)\nEOSQL/.exec(readFileSync(join(ROOT, 'deploy/create-role.sh'), 'utf8')) ?? [];

const directory = ServiceDirectory.ofEachTest();
let server: PostgresServer;

beforeAll(async () => {
  server = await PostgresServer.start();
});

afterAll(() => server.remove());

it('The role that Compose makes can create plants, and nothing for which PostgreSQL asks for a privileged role', async () => {
  const statements = STATEMENTS.replace(":'password'", `'${decodeURIComponent(PASSWORD)}'`).split(/(?<=;)\n/);
  expect(statements).toHaveLength(2);
  for (const statement of statements) await server.query(statement);

  const { url } = await directory.start({
    ...WITH_TOKEN,
    DATABASE_URL: server.url('plants').replace('//postgres:', '//plants:'),
  });

  expect(await create(url)).toEqual(CREATED);
  expect(
    await server.query(
      "SELECT rolsuper, rolcreaterole, rolcreatedb, rolreplication FROM pg_roles WHERE rolname = 'plants'",
    ),
  ).toEqual([{ rolsuper: false, rolcreaterole: false, rolcreatedb: false, rolreplication: false }]);
});
