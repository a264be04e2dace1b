/** Milliseconds of work in turns, after which the event loop reads, writes and accepts. */
const SLICE = 1;

/** Has work that may take long, and does a small part of it in each turn. */
export interface TurnTaker {
  takeTurn(): void;
}

/**
 * Spreads work over the iterations of the event loop, in turns. One packet may hold thousands of requests, or thousands
 * of chunks of a body: handled at once, it would delay all other connections. Node 20 and 22 also accept only one
 * connection in each iteration (libuv before 1.52).
 */
export class Turns {
  readonly #waiting = new Set<TurnTaker>();
  #isScheduled = false;

  /** Gives one turn, after those that wait already. */
  wait(taker: TurnTaker): void {
    this.#waiting.add(taker);
    this.#schedule();
  }

  remove(taker: TurnTaker): void {
    this.#waiting.delete(taker);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#take(performance.now() + SLICE));
  }

  #take(end: number): void {
    const [first] = this.#waiting;
    if (first !== undefined && performance.now() < end) {
      this.#waiting.delete(first);
      first.takeTurn();
      // A tick later, promises that the turn has resolved have run, and their time counts.
      process.nextTick(() => this.#take(end));
      return;
    }
    this.#isScheduled = false;
    if (first !== undefined) this.#schedule();
  }
}
