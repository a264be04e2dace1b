import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { create, CREATED, TOKEN } from '../support/client.js';
import { PLATFORMS } from '../support/hosts/application.js';
import type { Host } from '../support/hosts/host.js';
import { EXAMPLE, type ModuleSettings, type ModuleSystem, PackedPackage } from '../support/hosts/installation.js';
import type { NodeProcess } from '../support/node-process.js';
import { readPlants } from '../support/sqlite-file.js';

// The packed package in hosts: test/deploy/image.e2e-spec.ts runs the program that it has, too.

const plantStore = new PackedPackage();
const installations = { module: plantStore.install('module'), commonjs: plantStore.install('commonjs') };

afterAll(() => plantStore.remove());

describe('The package', () => {
  const installation = installations.module;
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

  it('depends on each package that it imports, and installs few', () => {
    const { dependencies, peerDependencies, peerDependenciesMeta } = installation.manifest;
    const named = { ...dependencies, ...peerDependencies, ...peerDependenciesMeta };
    const imported = paths
      .filter((path) => /\.(?:js|d\.ts)$/.test(path) && !/^(?:plant-store|dist\/(?:main|chunks|swagger-ui))/.test(path))
      .flatMap(importsOf)
      .filter((name) => !/^(?:\.|node:)/.test(name))
      .map((name) => /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? '');

    expect(imported.filter((name) => !(name in named))).toEqual([]);
    expect(Object.keys(dependencies)).toEqual([
      '@nestjs/passport',
      '@photostructure/sqlite',
      'jose',
      'passport',
      'passport-http-bearer',
    ]);
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
    ['Preserve', 'Bundler', /^$/],
    ['Node18', 'Node16', /TS1479/],
  ])(
    'compiles in a CommonJS host as the guide says: module %s, moduleResolution %s',
    (module, resolution, expected) => {
      // CommonJS has no top-level await.
      const source = readFileSync(EXAMPLE, 'utf8').replace(/const app[^]*$/, 'void [NestFactory, GardenModule];');

      expect(installations.commonjs.diagnose({ 'host.ts': source }, [module, resolution])).toMatch(expected);
    },
  );

  it('runs the example', async () => {
    installation.compile(EXAMPLE, 'main.js');
    const running = installation.start(['main.js'], { PORT: '0', PLANT_TOKEN: TOKEN });

    expect(await create(await running.printed(/^The garden is open: (.+)$/m))).toEqual(CREATED);
    await running.stop();
    expect(running.stderr).toBe('');
  });

  it('asks for the driver of PostgreSQL if it is missing', async () => {
    const hosts = [{ platform: 'express', token: TOKEN, repository: 'postgres://localhost/plants' }] as const;

    await expect(installation.startHosts(hosts).printed(/^(\[\d+\])$/m)).rejects.toThrow(
      'pg is not installed: npm install pg',
    );
  });
});

const JSON_BODY = { 'content-type': 'application/json' };
const FORM_BODY = { 'content-type': 'application/x-www-form-urlencoded' };

interface Question {
  readonly method?: string;
  readonly path: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends a request, and returns the answer without its date. */
async function exchange(port = 0, { method = 'POST', path, body = '', headers = {} }: Question) {
  // A stream is sent in chunks, without a length.
  const stream = method === 'POST' ? new Blob([body]).stream() : null;
  const outgoing = { method, headers, body: stream, duplex: 'half' };
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, outgoing);
  return {
    status: answer.status,
    headers: [...answer.headers].filter(([name]) => name !== 'date'),
    body: await answer.text(),
  };
}

describe.each<ModuleSystem>(['module', 'commonjs'])('A host of type %s', (system) => {
  const data = mkdtempSync(join(tmpdir(), 'plant-store-'));
  /**
   * All of them in one process, each with its own store and token; half of them with global filter, pipes and prefix.
   */
  const hosts = PLATFORMS.flatMap((platform) =>
    [false, true].map((global) => {
      const name = global ? `${platform}-global` : platform;
      const file = join(data, `${name}.db`);
      return { name, file, platform, global, repository: `sqlite:${file}`, token: `the-token-of-${name}` };
    }),
  );
  /** The same hosts without PlantsModule. */
  const without = hosts.map(({ platform, global, repository }): Host => ({ platform, global, repository }));
  let running: NodeProcess;
  let ports: number[];

  beforeAll(async () => {
    running = installations[system].startHosts([...hosts, ...without]);
    ports = JSON.parse(await running.printed(/^(.+)\n/)) as number[];
  });

  afterAll(() => rmSync(data, { recursive: true }));

  describe.each(hosts.map((host, index) => ({ ...host, index })))('on $name', ({ index, token, file, global }) => {
    /** Returns the body of an answer to POST /plants; a refusal must be one of the contract. */
    async function post(body: string, headers: object = {}): Promise<unknown> {
      const answer = await exchange(ports[index], {
        path: global ? '/api/plants' : '/plants',
        body,
        headers: { authorization: `Bearer ${token}`, ...JSON_BODY, ...headers },
      });
      const parsed = JSON.parse(answer.body) as object;
      expect(answer.status).toBe('error' in parsed ? 400 : 200);
      // Express and Fastify name the character set, which JSON has only one of (RFC 8259 §8.1).
      expect(new Headers(answer.headers).get('content-type')).toMatch(/^application\/json(?:; charset=utf-8)?$/);
      return parsed;
    }

    it('creates plants, and stores each id exactly', async () => {
      await post('{"id": 9007199254740992, "name": "one"}');
      const answer = await post('{"id": 9007199254740993, "name": "another", "tag": "indoor", "colour": "green"}');

      expect(answer).toEqual({ name: 'another', tag: 'indoor' });
      expect(readPlants(file)).toEqual([
        { id: 9007199254740992n, name: 'one', tag: null },
        { id: 9007199254740993n, name: 'another', tag: 'indoor' },
      ]);
    });

    it.each([
      { what: 'no token, with any body', error: 401, body: '{', headers: { authorization: '' } },
      { what: 'the id of another plant', error: 409, body: '{"id": 9007199254740992, "name": "two"}' },
      { what: 'a field with null', error: 422, body: '{"id": 2, "name": "a", "tag": null}' },
      { what: 'a form', error: 415, body: 'id=1&name=a', headers: FORM_BODY },
      { what: 'a body that is not JSON', error: 400, body: '{' },
      { what: 'a chunked body over the limit', error: 413, body: `{"id": 2, "name": "${'a'.repeat(300_000)}"}` },
    ])('refuses $what with error $error', async ({ error, body, headers }) => {
      expect(await post(body, headers)).toEqual({ error, message: expect.any(String) as string });
    });

    it('refuses the tokens of the other hosts in the process', async () => {
      for (const other of hosts.filter((other) => other.token !== token)) {
        expect(await post('{}', { authorization: `Bearer ${other.token}` })).toMatchObject({ error: 401 });
      }
    });

    it("does not change the host's own routes and errors", async () => {
      const path = global ? '/api/v1/own' : '/own';
      const secret = { method: 'GET', path: `${path}/secret` };
      const questions: Question[] = [
        { method: 'GET', path },
        { path, body: '{"word": "leaf"}', headers: JSON_BODY },
        { path, body: '{"word": 1}', headers: JSON_BODY },
        { path, body: '{', headers: JSON_BODY },
        { path, body: 'word=leaf', headers: FORM_BODY },
        { method: 'GET', path: `${path}/failure` },
        secret,
        { ...secret, headers: { authorization: `Bearer ${token}` } },
        { ...secret, headers: { authorization: 'Bearer the-token-of-the-host' } },
        { method: 'OPTIONS', path },
      ];
      for (const question of questions) {
        const usual = await exchange(ports[index + hosts.length], question);
        expect(await exchange(ports[index], question)).toEqual(usual);
      }
    });
  });

  it('ends when its applications close', async () => {
    expect(await running.stop()).toBe(0);
    expect(running.stderr).toBe('');
  });
});
