import { EventEmitter, once } from 'node:events';
import { Agent, request } from 'node:http';
import { contentOf, type Operation } from './history.js';

/** A pseudo-random number generator (mulberry32): the same seed gives the same requests. */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The result of one request. */
interface Exchange {
  readonly outcome: Operation['outcome'];
  /** The error number of a refusal. */
  readonly error?: number;
  /** True if the connection ended in the middle of the answer. */
  readonly cut?: boolean;
  /** The code of the error that ended the connection before the answer. */
  readonly failure?: string;
}

/** The number of ids that a workload chooses from. */
export const WORKLOAD_IDS = BigInt(Number.MAX_SAFE_INTEGER);

interface WorkloadOptions {
  /** The token of all clients, or tokens that the clients use in turn. */
  readonly token: string | readonly string[];
  readonly clients: number;
  readonly seed: number;
  /** The least id; 0 by default. */
  readonly firstId?: bigint;
}

/**
 * Clients that create plants one after another, each on its own connection. They contend for some ids, with a few
 * different contents for each.
 */
export class Workload {
  readonly history: Operation[] = [];
  /** How many operations had each outcome. */
  readonly counts = { ok: 0, refused: 0, unknown: 0 };
  /** How many answers had each error number. */
  readonly errors = new Map<number, number>();
  /** How many answers ended in the middle. */
  cut = 0;
  /** How many operations had no answer, by the code of the error. */
  readonly failures = new Map<string, number>();
  /** Milliseconds that each operation took. */
  readonly durations: number[] = [];
  #stopped = false;
  readonly #progress = new EventEmitter();
  readonly #agents: Agent[] = [];
  readonly #clients: Promise<void>[];

  /** @param target returns where to send the next request */
  constructor(target: () => string | Promise<string>, { token, clients, seed, firstId = 0n }: WorkloadOptions) {
    const tokens = [token].flat();
    this.#clients = Array.from({ length: clients }, (_, client) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      this.#agents.push(agent);
      const random = randomOf(seed * 1_000 + client);
      return this.#run(target, tokens[client % tokens.length] ?? '', agent, random, firstId);
    });
  }

  /** Number of operations without a complete answer. */
  get unanswered(): number {
    return this.counts.unknown - (this.errors.get(503) ?? 0) - (this.errors.get(500) ?? 0);
  }

  /** Waits until a condition holds that only an outcome can change. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await once(this.#progress, 'outcome');
  }

  /** Waits until the history has this many operations. */
  operations(count: number): Promise<void> {
    return this.until(() => this.history.length >= count);
  }

  /** Waits until this many more plants are acknowledged. */
  acknowledged(count: number): Promise<void> {
    const enough = this.counts.ok + count;
    return this.until(() => this.counts.ok >= enough);
  }

  /** Lets each client finish its request. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#clients);
    for (const agent of this.#agents) agent.destroy();
  }

  async #run(
    target: () => string | Promise<string>,
    token: string,
    agent: Agent,
    random: () => number,
    firstId: bigint,
  ): Promise<void> {
    let id = firstId;
    while (!this.#stopped) {
      // Most plants are new; the others have an id that this client, or perhaps another one, used before.
      const choice = random();
      if (choice < 0.7) id = firstId + BigInt(Math.floor(random() * Number.MAX_SAFE_INTEGER));
      else if (choice < 0.85) id = firstId + BigInt(Math.floor(random() * 50));
      const plant = {
        id,
        name: `plant ${id} ${Math.floor(random() * 3)}`,
        ...(random() < 0.5 && { tag: 'contended' }),
      };
      const body = `{"id":${id},${JSON.stringify({ name: plant.name, tag: plant.tag }).slice(1)}`;
      const url = `${await target()}/plants`;
      const started = performance.now();
      const { outcome, error, cut, failure } = await send(url, token, agent, body);
      this.durations.push(performance.now() - started);
      if (error !== undefined) this.errors.set(error, (this.errors.get(error) ?? 0) + 1);
      if (cut === true) this.cut += 1;
      if (failure !== undefined) this.failures.set(failure, (this.failures.get(failure) ?? 0) + 1);
      this.counts[outcome] += 1;
      this.history.push({ id, content: contentOf(plant), outcome });
      this.#progress.emit('outcome');
    }
  }
}

function send(url: string, token: string, agent: Agent, body: string): Promise<Exchange> {
  return new Promise((resolve) => {
    const outgoing = request(
      url,
      { agent, method: 'POST', headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' } },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        const cut = (): void => resolve({ outcome: 'unknown', cut: true });
        response.on('error', cut).on('close', cut);
        response.on('end', () => {
          if (response.statusCode === 200) {
            resolve({ outcome: 'ok' });
            return;
          }
          const { error } = JSON.parse(text) as { error: number };
          // With 503 and 500 the plant may be stored or not.
          resolve({ outcome: error === 503 || error === 500 ? 'unknown' : 'refused', error });
        });
      },
    );
    outgoing
      .on('error', ({ code, message }: NodeJS.ErrnoException) => {
        resolve({ outcome: 'unknown', failure: code ?? message });
      })
      .end(body);
  });
}
