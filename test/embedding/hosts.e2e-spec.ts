import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PLATFORMS } from '../support/hosts/application.js';
import type { Host } from '../support/hosts/host.js';
import { type ModuleSystem, PackedPackage } from '../support/hosts/installation.js';
import type { NodeProcess } from '../support/node-process.js';
import { readPlants } from '../support/sqlite-file.js';

const JSON_BODY = { 'content-type': 'application/json' };
const FORM_BODY = { 'content-type': 'application/x-www-form-urlencoded' };

const plantStore = new PackedPackage();
const data = mkdtempSync(join(tmpdir(), 'plant-store-'));

afterAll(async () => {
  await plantStore.remove();
  rmSync(data, { recursive: true });
});

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
  /** All of them in one process, each with its own store and token. */
  const hosts = PLATFORMS.flatMap((platform) =>
    [false, true].map((global) => {
      const name = global ? `${platform}-global` : platform;
      const file = join(data, `${system}-${name}.db`);
      return { name, file, platform, global, repository: `sqlite:${file}`, token: `the-token-of-${name}` };
    }),
  );
  /** The same hosts without PlantsModule. */
  const without = hosts.map(({ platform, global, repository }): Host => ({ platform, global, repository }));
  let running: NodeProcess;
  let ports: number[];

  beforeAll(async () => {
    running = plantStore.install(system).startHosts([...hosts, ...without]);
    ports = JSON.parse(await running.printed(/^(.+)\n/)) as number[];
  });

  describe.each(hosts.map((host, index) => ({ ...host, index })))('on $name', ({ index, token, file, global }) => {
    const prefix = global ? '/api' : '';

    /** Returns the body of an answer to POST /plants; a refusal must be one of the contract. */
    async function post(body: string, headers: object = {}): Promise<unknown> {
      const usual = { authorization: `Bearer ${token}`, ...JSON_BODY };
      const answer = await exchange(ports[index], {
        path: `${prefix}/plants`,
        body,
        headers: { ...usual, ...headers },
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
