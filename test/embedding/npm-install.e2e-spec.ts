import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { create, CREATED, TOKEN } from '../support/client.js';
import { FRAMEWORKS, type Host, type Installation, PackedPackage, ROOT } from '../support/hosts/installation.js';
import { LocalRegistry } from '../support/hosts/registry.js';

/** The packages that a Nest application has. */
const NEST = [
  ...['@nestjs/common', '@nestjs/core', 'reflect-metadata', 'rxjs', 'class-transformer', 'class-validator'],
  ...FRAMEWORKS,
];

/** Returns the names of the installed packages. */
function installedIn({ directory }: Installation): string[] {
  const lock = JSON.parse(readFileSync(join(directory, 'node_modules/.package-lock.json'), 'utf8')) as {
    packages: object;
  };
  return Object.keys(lock.packages).map((path) => path.slice('node_modules/'.length));
}

describe('npm install', () => {
  const packed = new PackedPackage();
  const registry = new LocalRegistry(join(ROOT, 'node_modules'));
  let url: string;

  beforeAll(async () => {
    url = await registry.start();
  });

  afterAll(async () => {
    registry.stop();
    await packed.remove();
  });

  /** Creates a plant in an application on each platform. */
  async function createPlants(host: Installation): Promise<unknown[]> {
    host.compileHost('run');
    const hosts = (['express', 'fastify'] as const).map((platform): Host => ({
      platform,
      token: TOKEN,
      repository: 'sqlite::memory:',
      body: 'nothing',
    }));
    const running = host.run('run.js', hosts);
    const ports = JSON.parse(await running.line()) as number[];
    const answers = await Promise.all(ports.map((port) => create(`http://127.0.0.1:${port}`)));
    expect(await running.stop()).toBe(0);
    expect(running.stderr).toBe('');
    return answers;
  }

  it('adds the package and few others to a host in ES modules', async () => {
    const host = packed.host('module');
    await host.npmInstall(url, NEST);
    const before = new Set(installedIn(host));

    expect(await host.npmInstall(url, [packed.tarball])).not.toMatch(/deprecated|ERESOLVE|peer/);

    expect(installedIn(host).filter((name) => !before.has(name))).toEqual([
      '@nestjs/passport',
      'jose',
      'passport',
      'passport-http-bearer',
      'passport-strategy',
      'pause',
      'plant-store',
      'utils-merge',
    ]);
    expect(await createPlants(host)).toEqual([CREATED, CREATED]);
  });
});
