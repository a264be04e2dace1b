import { Turns, type TurnTaker } from './turns.js';

describe('Turns', () => {
  let turns: Turns;
  let taken: string[];

  beforeEach(() => {
    turns = new Turns();
    taken = [];
  });

  /** Returns a taker that waits for this many turns, and how it ends. */
  function taker(name: string, count: number, work: () => void = () => undefined): Promise<void> {
    return new Promise((resolve) => {
      let left = count;
      const self: TurnTaker = {
        takeTurn: () => {
          taken.push(name);
          work();
          left -= 1;
          if (left > 0) turns.wait(self);
          else resolve();
        },
      };
      turns.wait(self);
    });
  }

  it('come one after another', async () => {
    await Promise.all([taker('a', 3), taker('b', 2), taker('c', 1)]);

    expect(taken).toEqual(['a', 'b', 'c', 'a', 'b', 'a']);
  });

  it('do not begin before the input of the same iteration is read', async () => {
    const done = taker('a', 1);
    taken.push('read');
    await done;

    expect(taken).toEqual(['read', 'a']);
  });

  it('leave the event loop to others when they take long', async () => {
    let iterations = 0;
    const count = (): void => {
      iterations += 1;
      timer = setImmediate(count);
    };
    let timer = setImmediate(count);
    const workForAMillisecond = (): void => {
      for (const end = performance.now() + 1; performance.now() < end;);
    };
    await Promise.all([taker('a', 10, workForAMillisecond), taker('b', 10, workForAMillisecond)]);
    clearImmediate(timer);

    expect(iterations).toBeGreaterThanOrEqual(19);
  });

  it('do not come to those that were removed', async () => {
    const removed: TurnTaker = { takeTurn: () => taken.push('removed') };
    turns.wait(removed);
    turns.remove(removed);
    await taker('a', 1);

    expect(taken).toEqual(['a']);
  });
});
