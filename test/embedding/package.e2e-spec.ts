import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join, posix } from 'node:path';
import ts from 'typescript';
import { create, CREATED, TOKEN } from '../support/client.js';
import {
  EXAMPLE,
  FRAMEWORKS,
  type Installation,
  type ModuleSettings,
  PackedPackage,
} from '../support/hosts/installation.js';
import { ROOT } from '../support/root.js';
import { createRegistry } from '../support/hosts/registry.js';

/** The packages that a Nest application has. */
const NEST = [
  ...['@nestjs/common', '@nestjs/core', 'reflect-metadata', 'rxjs', 'class-transformer', 'class-validator'],
  ...FRAMEWORKS,
];

const plantStore = new PackedPackage();

afterAll(() => plantStore.remove());

describe('The package', () => {
  const installation = plantStore.install('module');
  const paths = readdirSync(installation.package, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(installation.package.length + 1));
  const textOf = (path: string): string => readFileSync(join(installation.package, path), 'utf8');

  /** Returns what a file imports. */
  function importsOf(path: string): string[] {
    const imports = textOf(path).matchAll(/(?:\bfrom|\bimport\(|^import) ?'([^']+)'/gm);
    return [...imports].map(([, name = '']) => name);
  }

  it('has the code that its entry loads, with types and source maps, the documentation, and nothing else', () => {
    const code = new Set(['dist/index.js']);
    for (const path of code) {
      const own = importsOf(path).filter((name) => name.startsWith('.'));
      for (const name of own) code.add(posix.join(posix.dirname(path), name));
    }
    const others = ['package.json', 'plant-store.js', 'README.md', 'LICENSE', 'contract/openapi.yaml'];
    const guides = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'));
    const compiled = [...code].flatMap((path) => [path, `${path}.map`, path.replace(/js$/, 'd.ts')]);

    expect(paths.sort()).toEqual([...others, ...guides.map((name) => `docs/${name}`), ...compiled].sort());
    for (const path of code) {
      expect(JSON.parse(textOf(`${path}.map`))).toMatchObject({ sourcesContent: [expect.any(String)] });
    }
  });

  it('depends on each package that it imports', () => {
    const { dependencies, peerDependencies, peerDependenciesMeta } = installation.manifest;
    const named = { ...dependencies, ...peerDependencies, ...peerDependenciesMeta };
    const imported = paths
      .filter((path) => /\.(?:js|d\.ts)$/.test(path))
      .flatMap(importsOf)
      .filter((name) => !/^(?:\.|node:)/.test(name))
      .map((name) => /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? '');

    expect(imported).toContain('@nestjs/common');
    expect(imported.filter((name) => !(name in named))).toEqual([]);
  });

  it('exports one module, its OpenAPI document and its manifest', () => {
    const resolve = (path: string): string =>
      execFileSync(process.execPath, ['-p', `try { require.resolve('${path}') } catch (error) { error.code }`], {
        cwd: installation.directory,
        encoding: 'utf8',
      }).trim();

    expect(resolve('plant-store')).toBe(join(installation.package, 'dist/index.js'));
    expect(resolve('plant-store/openapi.yaml')).toBe(join(installation.package, 'contract/openapi.yaml'));
    expect(resolve('plant-store/package.json')).toBe(join(installation.package, 'package.json'));
    expect(resolve('plant-store/dist/index.js')).toBe('ERR_PACKAGE_PATH_NOT_EXPORTED');
  });

  it('has a program that says where the service is', () => {
    const program = join(installation.package, 'plant-store.js');
    const { status, stderr } = spawnSync(process.execPath, [program], { encoding: 'utf8' });

    expect(status).toBe(1);
    expect(stderr).toMatch(/^plant-store: only a clone of the repository has the service.*\n$/);
  });

  it.each<[...ModuleSettings, RegExp]>([
    ['NodeNext', 'NodeNext', /^$/],
    ['Node20', 'NodeNext', /^$/],
    ['Preserve', 'Bundler', /^$/],
    ['CommonJS', 'Bundler', ts.versionMajorMinor.startsWith('5.') ? /TS5095/ : /^$/],
    ['Node18', 'Node16', /TS1479/],
  ])('compiles in a CommonJS host as the guide says: module %s, moduleResolution %s', (...row) => {
    const [module, resolution, expected] = row;
    // CommonJS has no top-level await.
    const source = readFileSync(EXAMPLE, 'utf8').replace(/const app[^]*$/, 'void [NestFactory, GardenModule];');

    expect(plantStore.install('commonjs').diagnose({ 'host.ts': source }, [module, resolution])).toMatch(expected);
  });

  it('asks for the driver that is missing: on Node before 24 also for that of SQLite', async () => {
    const bare = plantStore.install('module', ['@nestjs/platform-express', '@nestjs/platform-fastify']);
    const start = (repository: string): Promise<string> =>
      bare.startHosts([{ platform: 'express', token: TOKEN, repository }]).printed(/^(\[\d+\])$/m);

    await expect(start('postgres://localhost/plants')).rejects.toThrow('pg is not installed: npm install pg');
    if (Number.parseInt(process.versions.node) >= 24) await start('sqlite::memory:');
    else await expect(start('sqlite::memory:')).rejects.toThrow('npm install @photostructure/sqlite');
  });
});

describe('npm install', () => {
  const registry = createRegistry(join(ROOT, 'node_modules'));

  beforeAll(() => once(registry.listen(0, '127.0.0.1'), 'listening'));

  afterAll(() => {
    registry.close();
    registry.closeAllConnections();
  });

  /** Returns the names of the installed packages. */
  function installedIn({ directory }: Installation): string[] {
    const lock = readFileSync(join(directory, 'node_modules/.package-lock.json'), 'utf8');
    const { packages } = JSON.parse(lock) as { packages: object };
    return Object.keys(packages).map((path) => path.slice('node_modules/'.length));
  }

  it('adds the package and few others to a host, in which the example creates a plant', async () => {
    const host = plantStore.host('module');
    const url = `http://127.0.0.1:${(registry.address() as AddressInfo).port}`;
    await host.npmInstall(url, NEST);
    const before = new Set(installedIn(host));

    expect(await host.npmInstall(url, [plantStore.tarball])).not.toMatch(/deprecated|ERESOLVE|peer/);

    const added = ['@nestjs/passport', 'jose', 'passport', 'passport-http-bearer', 'passport-strategy', 'pause'];
    expect(installedIn(host).filter((name) => !before.has(name))).toEqual([...added, 'plant-store', 'utils-merge']);

    host.compile(EXAMPLE, 'main.js');
    const running = host.start(['main.js'], { PORT: '0', PLANT_TOKEN: TOKEN });
    expect(await create(await running.printed(/^The garden is open: (.+)$/m))).toEqual(CREATED);
    await running.stop();
    expect(running.stderr).toBe('');
  });
});
