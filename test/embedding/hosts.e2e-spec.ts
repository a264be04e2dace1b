import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
    (['nothing', 'rawBody'] as const).map((body) => {
      const name = `${platform}-${body}`;
      const file = join(data, `${system}-${name}.db`);
      // Those with rawBody register all their parts globally.
      const global = body === 'rawBody';
      return { name, file, platform, body, global, repository: `sqlite:${file}`, token: `the-token-of-${name}` };
    }),
  );
  /** The same hosts without PlantsModule. */
  const without = hosts.map(({ platform, body, global, repository }): Host => ({ platform, body, global, repository }));
  let running: ReturnType<Installation['run']>;
  let ports: number[];

  beforeAll(async () => {
    const installation = plantStore.install(system);
    installation.compileHost('run');
    running = installation.run('run.js', [...hosts, ...without]);
    ports = JSON.parse(await running.line()) as number[];
  });

  describe.each(hosts.map((host, index) => ({ ...host, index })))('on $name', ({ index, token, file, global }) => {
    const prefix = global ? '/api' : '';

    function post(text: string, headers: Headers = {}): Promise<Answer> {
      const usual = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      return exchange(ports[index] ?? 0, 'POST', `${prefix}/plants`, text, { ...usual, ...headers });
    }

    it('creates plants, and stores each id exactly', async () => {
      const answer = await post('{"id": 1, "name": "monstera", "tag": "indoor", "colour": "green"}');
      await post('{"id": 9007199254740992, "name": "one"}');
      await post('{"id": 9007199254740993, "name": "another"}');

      expect(answer).toMatchObject({ status: 200, body: '{"name":"monstera","tag":"indoor"}' });
      expect(readPlants(file)).toEqual([
        { id: 1n, name: 'monstera', tag: 'indoor' },
        { id: 9007199254740992n, name: 'one', tag: null },
        { id: 9007199254740993n, name: 'another', tag: null },
      ]);
    });

    it.each<[string, number, string, Headers]>([
      ['no token, with any body', 401, '{', { authorization: '' }],
      ['the id of another plant', 409, '{"id": 1, "name": "another"}', {}],
      ['a field with null', 422, '{"id": 2, "name": "a", "tag": null}', {}],
      ['a form', 415, 'id=1&name=a', { 'content-type': 'application/x-www-form-urlencoded' }],
      ['a body that is not JSON', 400, '{', {}],
      ['a chunked body over the limit', 413, `{"id": 2, "name": "${'a'.repeat(300_000)}"}`, {}],
    ])('refuses %s with error %i', async (_what, error, text, headers) => {
      const { status, type, body } = await post(text, headers);

      expect([status, type]).toEqual([400, expect.stringMatching(JSON_TYPE)]);
      expect(JSON.parse(body)).toEqual({ error, message: expect.any(String) as string });
    });

    it('refuses the tokens of the other hosts in the process', async () => {
      for (const other of hosts.filter((other) => other.token !== token)) {
        expect(errorOf(await post('{"id": 2, "name": "a"}', { authorization: `Bearer ${other.token}` }))).toBe(401);
      }
    });

    if (global) {
      it("answers as the contract requires when the host's guard refuses", async () => {
        expect(errorOf(await post('{"id": 2, "name": "a"}', { 'x-refuse': 'yes' }))).toBe(403);
      });
    }

    it("does not change the host's own routes and errors", async () => {
      const own = global ? '/api/v1/own' : '/own';
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

type Headers = Readonly<Record<string, string>>;

/** An answer; its headers are without the date. */
interface Answer {
  readonly status: number;
  readonly type: string | null;
  readonly headers: readonly string[][];
  readonly body: string;
}

async function exchange(port: number, method: string, path: string, text: string, headers: Headers): Promise<Answer> {
  // A stream is sent in chunks, without a length.
  const body = method === 'POST' ? new Blob([text]).stream() : null;
  const outgoing = { method, headers, body, duplex: 'half' };
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, outgoing);
  return {
    status: answer.status,
    type: answer.headers.get('content-type'),
    headers: [...answer.headers].filter(([name]) => name !== 'date'),
    body: await answer.text(),
  };
}

/** Returns the error number of a refusal. */
function errorOf({ status, body }: Answer): unknown {
  return status === 200 ? undefined : (JSON.parse(body) as { error: unknown }).error;
}
