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

/** What became of one request. */
interface Exchange {
  readonly outcome: Operation['outcome'];
  /** The error number of a refusal. */
  readonly error?: number;
  /** Whether the connection ended in the middle of the answer. */
  readonly cut?: boolean;
}

/**
 * Clients that create plants one after another, each on a connection of its own. Ids overlap, and each id comes with
 * a few contents, so that clients contend for them.
 *
 * @param target where to send the next request; it may change while the workload runs
 */
export class Workload {
  readonly history: Operation[] = [];
  /** How often each error number was told. */
  readonly errors = new Map<number, number>();
  /** How many answers were cut in the middle. */
  cut = 0;
  #stopped = false;
  readonly #agents: Agent[] = [];
  readonly #clients: Promise<void>[];

  constructor(target: () => string | Promise<string>, options: { token: string; clients: number; seed: number }) {
    this.#clients = Array.from({ length: options.clients }, (_, client) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      this.#agents.push(agent);
      const random = randomOf(options.seed * 1_000 + client);
      return this.#run(target, options.token, agent, random);
    });
  }

  /** Lets every client finish its request. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#clients);
    for (const agent of this.#agents) agent.destroy();
  }

  async #run(target: () => string | Promise<string>, token: string, agent: Agent, random: () => number): Promise<void> {
    let id = 0n;
    while (!this.#stopped) {
      // Most plants are new; the others contend for an id that this client, or perhaps another one, used before.
      const choice = random();
      if (choice < 0.7) id = BigInt(Math.floor(random() * Number.MAX_SAFE_INTEGER));
      else if (choice < 0.85) id = BigInt(Math.floor(random() * 50));
      const plant = {
        id,
        name: `plant ${id} ${Math.floor(random() * 3)}`,
        ...(random() < 0.5 && { tag: 'contended' }),
      };
      const body = `{"id":${id},${JSON.stringify({ name: plant.name, tag: plant.tag }).slice(1)}`;
      const { outcome, error, cut } = await send(`${await target()}/plants`, token, agent, body);
      if (error !== undefined) this.errors.set(error, (this.errors.get(error) ?? 0) + 1);
      if (cut === true) this.cut += 1;
      this.history.push({ id, content: contentOf(plant), outcome });
    }
  }
}

function send(url: string, token: string, agent: Agent, body: string): Promise<Exchange> {
  return new Promise((resolve) => {
    const unknown = (): void => resolve({ outcome: 'unknown' });
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
          // Of a plant that the store had trouble with nobody can know whether it is stored.
          resolve({ outcome: error === 503 || error === 500 ? 'unknown' : 'refused', error });
        });
      },
    );
    outgoing.on('error', unknown).end(body);
  });
}
