import { EventEmitter, once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { contentOf, type Operation } from './history.js';
import { RawClient, requestTo } from './raw-client.js';

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

/** Milliseconds after a request without an answer, so that a service that ends or starts has the processor. */
const PAUSE = 20;

/** The number of ids that a workload chooses from. */
export const WORKLOAD_IDS = BigInt(Number.MAX_SAFE_INTEGER);

interface WorkloadOptions {
  readonly token: string;
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
  /** How many operations had no complete answer. */
  unanswered = 0;
  #stopped = false;
  readonly #progress = new EventEmitter();
  readonly #clients: Promise<void>[];

  /** @param target returns where to send the next request */
  constructor(
    private readonly target: () => string | Promise<string>,
    private readonly options: WorkloadOptions,
  ) {
    this.#clients = Array.from({ length: options.clients }, (_, client) => this.#run(client));
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
  }

  async #run(client: number): Promise<void> {
    const { token, seed, firstId = 0n } = this.options;
    const random = randomOf(seed * 1_000 + client);
    const connections = new Map<string, RawClient>();
    let id = firstId;
    while (!this.#stopped) {
      // Most plants are new; the others have an id that this client, or perhaps another one, used before.
      const choice = random();
      if (choice < 0.7) id = firstId + BigInt(Math.floor(random() * Number.MAX_SAFE_INTEGER));
      else if (choice < 0.85) id = firstId + BigInt(Math.floor(random() * 50));
      const plant = {
        name: `plant ${id} ${Math.floor(random() * 3)}`,
        ...(random() < 0.5 && { tag: 'contended' }),
      };
      const body = `{"id":${id},${JSON.stringify(plant).slice(1)}`;
      const url = await this.target();
      const connection = await connect(url, connections);
      const result = await connection?.ask(requestTo(url, token, body));
      if (result === undefined) {
        this.unanswered += 1;
        if (connection !== undefined && connection.received !== '') this.cut += 1;
        await setTimeout(PAUSE);
      }
      if (result !== undefined && result !== 200) this.errors.set(result, (this.errors.get(result) ?? 0) + 1);
      const outcome = outcomeOf(result);
      this.counts[outcome] += 1;
      this.history.push({ id, content: contentOf(plant), outcome });
      this.#progress.emit('outcome');
    }
    for (const { socket } of connections.values()) socket.destroy();
  }
}

/** Returns the connection to a service, which is opened again if it has ended; undefined if the service refuses it. */
async function connect(url: string, connections: Map<string, RawClient>): Promise<RawClient | undefined> {
  const known = connections.get(url);
  if (known?.isReusable === true) return known;
  known?.socket.destroy();
  const opened = await RawClient.open(url).catch(() => undefined);
  if (opened !== undefined) connections.set(url, opened);
  return opened;
}

/** With 503 and 500 the plant may be stored or not. */
function outcomeOf(result: number | undefined): Operation['outcome'] {
  if (result === 200) return 'ok';
  return result === undefined || result === 503 || result === 500 ? 'unknown' : 'refused';
}
