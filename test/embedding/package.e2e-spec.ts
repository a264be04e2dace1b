import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import ts from 'typescript';
import { readVersion } from '../../src/process/version.js';
import { create, CREATED, MONSTERA, TOKEN } from '../support/client.js';
import { EXAMPLE, type Installation, type ModuleSettings, PackedPackage } from '../support/hosts/installation.js';
import { childrenOf, NodeProcess } from '../support/node-process.js';
import { ROOT } from '../support/root.js';
import { CURL, ServiceDirectory, type Variables } from '../support/service-directory.js';
import { createRegistry } from '../support/hosts/registry.js';

/** The packages that a Nest application has. */
const NEST = [
  ...['@nestjs/common', '@nestjs/core', '@nestjs/platform-express'],
  ...['reflect-metadata', 'rxjs', 'class-transformer', 'class-validator'],
];

const plantStore = new PackedPackage();
const registry = createRegistry(join(ROOT, 'node_modules'));
/** npm keeps in it what it has fetched, for all tests. */
const cache = mkdtempSync(join(tmpdir(), 'plant-store-npm-'));

beforeAll(() => once(registry.listen(0, '127.0.0.1'), 'listening'));

afterAll(async () => {
  registry.close();
  registry.closeAllConnections();
  rmSync(cache, { recursive: true });
  await plantStore.remove();
});

/** Returns the variables with which npm installs from the registry. */
function npmVariables(): Variables {
  const { port } = registry.address() as AddressInfo;
  return { npm_config_registry: `http://127.0.0.1:${port}`, npm_config_cache: cache };
}

describe('The package', () => {
  const installation = plantStore.install('module');
  const commonJs = plantStore.install('commonjs');
  const paths = readdirSync(installation.package, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(installation.package.length + 1));
  const textOf = (path: string): string => readFileSync(join(installation.package, path), 'utf8');

  /** Returns what a file imports. */
  function importsOf(path: string): string[] {
    const imports = textOf(path).matchAll(/(?:\bfrom|\bimport\(|^import) ?'([^']+)'/gm);
    return [...imports].map(([, name = '']) => name);
  }

  /** Returns the files that the entry of the module loads. */
  function codeOfModule(): Set<string> {
    const code = new Set(['dist/index.js']);
    for (const path of code) {
      const own = importsOf(path).filter((name) => name.startsWith('.'));
      for (const name of own) code.add(posix.join(posix.dirname(path), name));
    }
    return code;
  }

  it('has the code that its entry loads, with types and source maps, and loads nothing of the service with it', () => {
    const code = codeOfModule();

    expect(paths).toEqual(expect.arrayContaining([...code].flatMap((path) => [path, path.replace(/js$/, 'd.ts')])));
    for (const path of code) {
      expect(path).not.toMatch(/^dist\/(?:main|chunks)/);
      expect(JSON.parse(textOf(`${path}.map`))).toMatchObject({ sourcesContent: [expect.any(String)] });
    }
  });

  it('has no link to a file that is not in it', () => {
    const guides = paths.filter((path) => path.endsWith('.md'));
    const links = guides.flatMap((path) =>
      [...textOf(path).matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, target = '']) =>
        posix.join(posix.dirname(path), target),
      ),
    );

    expect(links).toContain('docs/embedding.md');
    expect(links.filter((path) => !paths.includes(path) && path !== 'docs/docs-page.png')).toEqual([]);
  });

  it('has a manifest whose addresses agree with one another', () => {
    const { homepage, repository, bugs } = JSON.parse(textOf('package.json')) as {
      homepage: string;
      repository: { url: string };
      bugs: { url: string };
    };

    expect([repository.url, bugs.url]).toEqual([`git+${homepage}.git`, `${homepage}/issues`]);
  });

  it('depends on each package that it imports', () => {
    const { dependencies, peerDependencies, peerDependenciesMeta } = installation.manifest;
    const named = { ...dependencies, ...peerDependencies, ...peerDependenciesMeta };
    const imported = paths
      .filter((path) => /\.(?:js|d\.ts)$/.test(path) && !/^(?:plant-store|dist\/(?:main|chunks|swagger-ui))/.test(path))
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

    expect(commonJs.diagnose({ 'host.ts': source }, [module, resolution])).toMatch(expected);
  });

  it('asks for the driver of PostgreSQL if it is missing, and has that of SQLite', async () => {
    const start = (repository: string): Promise<string> =>
      installation.startHosts([{ platform: 'express', token: TOKEN, repository }]).printed(/^(\[\d+\])$/m);

    await expect(start('postgres://localhost/plants')).rejects.toThrow('pg is not installed: npm install pg');
    await start('sqlite::memory:');
  });
});

describe('npm install', () => {
  /** Returns the names of the packages in a lock file of npm. */
  function packagesOf({ directory }: Installation, lock: string): string[] {
    const { packages } = JSON.parse(readFileSync(join(directory, lock), 'utf8')) as { packages: object };
    return Object.keys(packages).map((path) => path.slice('node_modules/'.length));
  }

  it('adds the package and few others to a host, in which the example creates a plant', async () => {
    const host = plantStore.host('module');
    // Without the package, npm does not install what it would, but tells.
    await host.npmInstall(npmVariables(), ['--package-lock-only', ...NEST]);
    const before = new Set(packagesOf(host, 'package-lock.json'));

    expect(await host.npmInstall(npmVariables(), [plantStore.tarball])).not.toMatch(/deprecated|ERESOLVE|peer/);

    const added = [
      '@nestjs/passport',
      '@photostructure/sqlite',
      'jose',
      'node-addon-api',
      'node-gyp-build',
      'passport',
      'passport-http-bearer',
      'passport-strategy',
      'pause',
    ];
    const installed = packagesOf(host, 'node_modules/.package-lock.json');
    expect(installed.filter((name) => !before.has(name))).toEqual([...added, 'plant-store', 'utils-merge']);

    host.compile(EXAMPLE, 'main.js');
    const running = host.start(['main.js'], { PORT: '0', PLANT_TOKEN: TOKEN });
    expect(await create(await running.printed(/^The garden is open: (.+)$/m))).toEqual(CREATED);
    await running.stop();
    expect(running.stderr).toBe('');
    // As the guides write it: without the installation, npx would look for the package in the registry.
    const env = { ...process.env, npm_config_offline: 'true' };
    const version = execFileSync('npx', ['plant-store', '--version'], { cwd: host.directory, env, encoding: 'utf8' });
    expect(version).toBe(`${readVersion()}\n`);
  });
});

/** Returns the processes that this one has started, and before each of them those that it has started. */
function processesOf(pid = 0): number[] {
  return childrenOf(pid).flatMap((child) => [...processesOf(child), child]);
}

describe('npx in an empty directory', () => {
  const directory = ServiceDirectory.ofEachTest();

  it('runs the service, which creates plants in the working directory, and each command', async () => {
    const npm = { HOME: directory.file('home'), ...npmVariables() };
    const npx = ['sh', '-c', 'shift; exec npm exec --yes "$@"', 'sh'];
    const run = (...parameters: string[]): NodeProcess => {
      const variables = { ...npm, PORT: '0', MANAGEMENT_PORT: 'off' };
      const words = ['--package', plantStore.tarball, '--', 'plant-store', ...parameters];
      return new NodeProcess(words, variables, { workingDirectory: directory.path, wrapper: npx });
    };

    const service = run();
    const curl = await service.printed(CURL);
    const [, url = '', token = ''] = /^curl -i (\S+)\/plants[^]+Bearer ([\w-]+)'/.exec(curl) ?? [];
    expect(await create(url, MONSTERA, token)).toEqual(CREATED);
    // The same program without npm, which takes two seconds to start it.
    const installations = join(cache, '_npx');
    const [installed = ''] = readdirSync(installations);
    const program = join(installations, installed, 'node_modules/.bin/plant-store');
    for (const command of [
      'token list',
      'backup copy.db',
      'export',
      'verify',
      'check',
      'restore --help',
      'import --help',
    ]) {
      const ended = new NodeProcess([program, ...command.split(' ')], npm, { workingDirectory: directory.path });
      expect([command, await ended.ended, ended.stderr]).toMatchObject([command, 0, expect.anything()]);
      if (command === 'export') expect(ended.stdout).toBe('{"id":1,"name":"Monstera"}\n');
    }
    // To the service itself, because npm does not forward its signals.
    const [started] = processesOf(service.child.pid);
    expect(started).toBeGreaterThan(0);
    process.kill(Number(started), 'SIGTERM');
    expect(await service.ended).toBe(0);
  });
});
