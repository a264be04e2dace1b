import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Installation, PackedPackage } from '../support/hosts/installation.js';
import { PostgresServer } from '../support/postgres.js';

const EXAMPLE = join(import.meta.dirname, '../../examples/garden');
const SOURCES = readdirSync(EXAMPLE).filter((name) => name.endsWith('.ts'));
const { dependencies, devDependencies } = JSON.parse(readFileSync(join(EXAMPLE, 'package.json'), 'utf8')) as Record<
  'dependencies' | 'devDependencies',
  Record<string, string>
>;

describe('The example with two gardens', () => {
  const packed = new PackedPackage();
  let server: PostgresServer;
  let installation: Installation;

  beforeAll(async () => {
    server = await PostgresServer.start();
    const others = ['plant-store', '@types/node'];
    const own = Object.keys({ ...dependencies, ...devDependencies }).filter((name) => !others.includes(name));
    installation = packed.install('module', own);
    for (const name of SOURCES) installation.compile(join(EXAMPLE, name), name.replace(/ts$/, 'js'));
  });

  afterAll(async () => {
    await packed.remove();
    await server.remove();
  });

  it('has correct types', () => {
    const sources = SOURCES.map((name) => [name, readFileSync(join(EXAMPLE, name), 'utf8')]);

    expect(installation.diagnose(Object.fromEntries(sources) as Record<string, string>)).toBe('');
  });

  it.each(['express', 'fastify'])(
    'keeps each garden, and the table of the application, apart on %s',
    async (platform) => {
      const url = await server.createDatabase();
      const running = installation.start([`${platform}.js`], {
        PORT: '0',
        DATABASE_URL: url,
        INDOOR_TOKEN: 'indoor-token',
        OUTDOOR_TOKEN: 'outdoor-token',
      });
      let line = '';
      while (!line.startsWith('The gardens are open: ')) line = await running.line();
      const base = line.slice('The gardens are open: '.length);
      const create = async (garden: string, token: string, name: string): Promise<unknown> => {
        const answer = await fetch(`${base}/${garden}/plants`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify({ id: 1, name }),
        });
        return answer.json();
      };

      expect(await create('indoor', 'indoor-token', 'Monstera')).toEqual({ name: 'Monstera' });
      expect(await create('outdoor', 'outdoor-token', 'Oak')).toEqual({ name: 'Oak' });
      expect(await create('outdoor', 'indoor-token', 'Monstera')).toMatchObject({ error: 401 });
      await running.stop('SIGTERM');

      const database = new URL(url).pathname.slice(1);
      const read = (table: string): Promise<object[]> => server.query(`SELECT * FROM ${table} ORDER BY 1`, database);
      expect(await read('indoor.plants')).toEqual([{ id: '1', name: 'Monstera', tag: null }]);
      expect(await read('outdoor.plants')).toEqual([{ id: '1', name: 'Oak', tag: null }]);
      expect(await read('public.plants')).toEqual([
        { id: 1, garden: 'indoor', name: 'Monstera' },
        { id: 2, garden: 'outdoor', name: 'Oak' },
      ]);
    },
  );

  it('passes its own test, without a database', () => {
    const { status, stdout } = spawnSync(process.execPath, ['--test', 'garden.test.js'], {
      cwd: installation.directory,
      encoding: 'utf8',
      env: { PATH: process.env.PATH },
    });

    expect({ status, stdout }).toMatchObject({ status: 0, stdout: expect.stringContaining('pass 1') as string });
  });
});
