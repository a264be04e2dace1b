import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { create, CREATED } from '../support/client.js';
import { PackedPackage } from '../support/hosts/installation.js';
import { ServiceDirectory } from '../support/service-directory.js';
import { ROOT } from '../support/root.js';

const DOCKERFILE = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');

/** Node has SQLite from version 24 on. Before, the service needs these packages. */
const DRIVER = Number(process.versions.node.split('.', 1)[0]) >= 24 ? [] : ['@photostructure/sqlite', 'node-gyp-build'];

const directory = ServiceDirectory.ofEachTest();
const program = directory.file('app/plant-store.js');

const plantStore = new PackedPackage();

afterAll(() => plantStore.remove());

beforeEach(() => {
  plantStore.extract(directory.file('app'));
  for (const name of DRIVER) {
    const link = directory.file(`app/node_modules/${name}`);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), link);
  }
});

describe('The files of the image', () => {
  it('need no packages to create plants, and to serve metrics and the docs page', async () => {
    // The program of the image instead of the one that the shell is given.
    const wrapper = ['/bin/sh', '-c', `exec "$0" '${program}'`];
    const { url, management } = await directory.startManaged({}, { wrapper });

    expect(await create(url)).toEqual(CREATED);
    const page = await (await fetch(`${management}/docs/`)).text();
    const assets = [...page.matchAll(/(?:src|href)="\.\/([\w.-]+)"/g)].map(([, name = '']) => `docs/${name}`);
    expect(assets).toContain('docs/swagger-ui-bundle.js');
    for (const path of [...assets, 'openapi.json', 'metrics', 'health/ready']) {
      const { status } = await fetch(`${management}/${path}`);
      expect({ path, status }).toEqual({ path, status: 200 });
    }
  });

  it('tell Docker whether the service is alive', async () => {
    const [, check = ''] = /^HEALTHCHECK .* CMD (\[[^\]]+\])/m.exec(DOCKERFILE.replaceAll('\\\n', '')) ?? [];
    const [command = '', ...parameters] = JSON.parse(check) as string[];
    const { service, management } = await directory.startManaged();
    const environment = { PATH: process.env.PATH, MANAGEMENT_PORT: new URL(management).port };
    const isAlive = async (): Promise<boolean> => {
      const checked = execFile(command, parameters, { env: environment });
      const [status] = (await once(checked, 'exit')) as [number];
      return status === 0;
    };

    expect(await isAlive()).toBe(true);
    await service.stop();
    expect(await isAlive()).toBe(false);
  });

  it('need no packages for the commands', async () => {
    await directory.store([]);
    for (const command of ['token create --name ci', 'check', 'backup backup.db', 'export -', 'verify', '--version']) {
      execFileSync(process.execPath, [program, ...command.split(' ')], { cwd: directory.path, stdio: 'pipe' });
    }
  });

  it('have the licences of the bundled packages', () => {
    const licences = readFileSync(directory.file('app/dist/third-party-licenses.txt'), 'utf8');

    for (const name of ['@nestjs/core', '@fastify/static', 'fastify', 'pg', 'pause']) {
      expect(licences).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+\n\n`, 'm'));
    }
  });
});
