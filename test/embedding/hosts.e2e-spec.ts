import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import {
  EXAMPLE,
  type Host,
  type Installation,
  type ModuleSystem,
  PackedPackage,
} from '../support/hosts/installation.js';
import { TOKEN } from '../support/client.js';
import { readPlants } from '../support/sqlite-file.js';

const plantStore = new PackedPackage();
const data = mkdtempSync(join(tmpdir(), 'plant-store-'));

afterAll(async () => {
  await plantStore.remove();
  rmSync(data, { recursive: true });
});

describe.each<ModuleSystem>(['module', 'commonjs'])('A host of type %s', (system) => {
  /** All of them in one process, each with its own store and token. */
  const hosts = (['express', 'fastify'] as const).flatMap((platform) =>
    [{ body: 'nothing' as const }, { body: 'rawBody' as const, global: true }].map((variant) => {
      const title = [platform, variant.body, ...(variant.global ? ['all global'] : [])].join(', ');
      const file = join(data, `${system}-${title.replace(/\W+/g, '-')}.db`);
      return {
        title,
        file,
        platform,
        repository: `sqlite:${file}`,
        token: `the-token-of-${title.replace(/\W+/g, '-')}`,
        ...variant,
      };
    }),
  );
  /** The same hosts without PlantsModule. */
  const without = hosts.map(({ platform, body, repository, ...variant }): Host => ({
    platform,
    body,
    repository,
    ...(variant.global && { global: true }),
  }));
  let running: ReturnType<Installation['run']>;
  let ports: number[];

  beforeAll(async () => {
    const installation = plantStore.install(system);
    installation.compileHost('run');
    running = installation.run('run.js', [...hosts, ...without]);
    ports = JSON.parse(await running.line()) as number[];
  });

  describe.each(hosts.map((host, index) => ({ ...host, index })))('on $title', (host) => {
    const { index, token, file } = host;
    const prefix = 'global' in host ? '/api' : '';

    function post(text: string, headers: Headers = {}): Promise<Answer> {
      return exchange(ports[index] ?? 0, 'POST', `${prefix}/plants`, text, {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        ...headers,
      });
    }

    it('creates a plant', async () => {
      const answer = await post('{"id": 1, "name": "monstera", "tag": "indoor", "colour": "green"}');

      expect(answer).toMatchObject({
        status: 200,
        type: expect.stringMatching(JSON_TYPE) as string,
        body: '{"name":"monstera","tag":"indoor"}',
      });
      expect(readPlants(file)).toContainEqual({ id: 1n, name: 'monstera', tag: 'indoor' });
    });

    it('stores each id exactly', async () => {
      const ids = [9007199254740992n, 9007199254740993n];

      for (const id of ids) expect(errorOf(await post(`{"id": ${id}, "name": "exact"}`))).toBeUndefined();
      expect(
        readPlants(file)
          .filter(({ name }) => name === 'exact')
          .map(({ id }) => id),
      ).toEqual(ids);
    });

    it.each<[string, number, string, Headers]>([
      ['no token, with any body', 401, '{', { authorization: '' }],
      ['the id of another plant', 409, '{"id": 1, "name": "another"}', {}],
      ['a field with null', 422, '{"id": 2, "name": "a", "tag": null}', {}],
      ['a form', 415, 'id=1&name=a', { 'content-type': 'application/x-www-form-urlencoded' }],
      ['a body that is not JSON', 400, '{', {}],
      [
        'a chunked body over the limit',
        413,
        `{"id": 2, "name": "${'a'.repeat(300_000)}"}`,
        { 'transfer-encoding': 'chunked' },
      ],
    ])('refuses %s with error %i', async (_what, error, text, headers) => {
      const answer = await post(text, headers);

      expect(answer).toMatchObject({ status: 400, type: expect.stringMatching(JSON_TYPE) as string });
      expect(Object.keys(JSON.parse(answer.body) as object)).toEqual(['error', 'message']);
      expect(errorOf(answer)).toBe(error);
    });

    it('refuses the tokens of the other hosts in the process', async () => {
      for (const other of hosts.filter((other) => other.token !== token)) {
        expect(errorOf(await post('{"id": 2, "name": "a"}', { authorization: `Bearer ${other.token}` }))).toBe(401);
      }
    });

    if ('global' in host) {
      it("answers as the contract requires when the host's guard refuses", async () => {
        expect(errorOf(await post('{"id": 2, "name": "a"}', { 'x-refuse': 'yes' }))).toBe(403);
      });
    }

    it("does not change the host's own routes and errors", async () => {
      const own = 'global' in host ? '/api/v1/own' : '/own';
      const json = { 'content-type': 'application/json' };
      const requests: [string, string, string, Headers][] = [
        ['GET', own, '', {}],
        ['POST', own, '{"word": "leaf"}', json],
        ['POST', own, '{"word": 1}', json],
        ['POST', own, '{', json],
        ['POST', own, 'word=leaf', { 'content-type': 'application/x-www-form-urlencoded' }],
        ['GET', `${own}/failure`, '', {}],
        ['GET', `${own}/secret`, '', {}],
        ['GET', `${own}/secret`, '', { authorization: `Bearer ${token}` }],
        ['GET', `${own}/secret`, '', { authorization: 'Bearer the-token-of-the-host' }],
        ['GET', `${own}/nowhere`, '', {}],
        ['OPTIONS', own, '', {}],
      ];
      for (const [method, path, text, headers] of requests) {
        const answers = await Promise.all(
          [ports[index] ?? 0, ports[index + hosts.length] ?? 0].map((port) =>
            exchange(port, method, path, text, headers),
          ),
        );
        expect(answers[0]).toEqual(answers[1]);
      }
    });
  });

  it('ends when its applications close', async () => {
    expect(await running.stop()).toBe(0);
    expect(running.stderr).toBe('');
  });
});

describe('A host that starts and stops a hundred times', () => {
  it('leaks no memory, handles or listeners', async () => {
    const installation = plantStore.install('module');
    installation.compileHost('start-and-stop');
    const repository = `sqlite:${join(data, 'again.db')}`;
    const hosts = (['express', 'fastify'] as const).map((platform): Host => ({
      platform,
      token: TOKEN,
      body: 'nothing',
      repository,
    }));
    const running = installation.run('start-and-stop.js', [hosts, 50], ['--expose-gc']);
    const { before, after } = JSON.parse(await running.line()) as Record<
      'before' | 'after',
      { heap: number; handles: number; listeners: number }
    >;

    expect(await running.stop()).toBe(0);
    expect(after.handles).toBeLessThanOrEqual(before.handles);
    expect(after.listeners).toBe(before.listeners);
    // A leaked application would take more than this.
    expect(after.heap - before.heap).toBeLessThan(50 * 20_000);
  });
});

describe('The example', () => {
  it('creates a plant', async () => {
    const installation = plantStore.install('module');
    installation.compile(EXAMPLE, 'main.js');
    const running = installation.start(['main.js'], { PORT: '0', PLANT_TOKEN: TOKEN });
    let line = '';
    while (!line.startsWith('The garden is open: ')) line = await running.line();
    const url = line.slice('The garden is open: '.length);
    const answer = await fetch(`${url}/plants`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      body: '{"id": 9007199254740993, "name": "Monstera"}',
    });

    expect(await answer.json()).toEqual({ name: 'Monstera' });
    await running.stop('SIGTERM');
    expect(running.stderr).toBe('');
    expect(readPlants(join(installation.directory, 'plants.db'))).toEqual([
      { id: 9007199254740993n, name: 'Monstera', tag: null },
    ]);
  });

  it('is shown in docs/embedding.md', () => {
    expect(readFileSync(join(import.meta.dirname, '../../docs/embedding.md'), 'utf8')).toContain(
      `\`\`\`ts\n${readFileSync(EXAMPLE, 'utf8')}\`\`\``,
    );
  });
});

/** Express and Fastify name the character set, which JSON has only one of (RFC 8259 §8.1). */
const JSON_TYPE = /^application\/json(?:; charset=utf-8)?$/;

/** Headers by name; undefined omits a header. */
type Headers = Readonly<Record<string, string | undefined>>;

/** An answer, with its headers in order but without the date. */
interface Answer {
  readonly status: number | undefined;
  readonly type: string | undefined;
  readonly headers: readonly string[];
  /** The decompressed body. */
  readonly body: string;
}

function exchange(port: number, method: string, path: string, text: string, headers: Headers): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const length = 'transfer-encoding' in headers ? undefined : `${Buffer.byteLength(text)}`;
    const given = Object.entries({ 'content-length': length, connection: 'close', ...headers });
    const outgoing = request(
      {
        port,
        host: '127.0.0.1',
        method,
        path,
        headers: Object.fromEntries(given.filter(([, value]) => value !== undefined)),
      },
      (response) => {
        const chunks: Uint8Array[] = [];
        response.on('error', reject).on('data', (chunk: Uint8Array) => chunks.push(chunk));
        response.on('end', () => {
          const bytes = Buffer.concat(chunks);
          const at = response.rawHeaders.findIndex((name, place) => place % 2 === 0 && name.toLowerCase() === 'date');
          resolve({
            status: response.statusCode,
            type: response.headers['content-type'],
            headers: response.rawHeaders.filter((_header, place) => place !== at + 1),
            body: (response.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString('utf8'),
          });
        });
      },
    );
    outgoing.on('error', reject).end(text);
  });
}

/** Returns the error number of a refusal. */
function errorOf({ status, body }: Answer): unknown {
  return status === 200 ? undefined : (JSON.parse(body) as { error: unknown }).error;
}
