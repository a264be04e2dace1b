import { Connections, type Occupant } from './connections.js';

/** Waits until the server has had the chance to read from new connections. */
async function nextTurns(): Promise<void> {
  for (let count = 0; count < 3; count += 1) await new Promise(setImmediate);
}

describe('Connections', () => {
  let closed: string[];

  beforeEach(() => {
    closed = [];
  });

  function occupant(name: string): Occupant {
    return { destroy: () => closed.push(name) };
  }

  /** Adds this many connections, `name 0` and so on, which then wait for their clients. */
  async function waiting(connections: Connections, name: string, count: number): Promise<Occupant[]> {
    const occupants = Array.from({ length: count }, (_, index) => occupant(`${name} ${index}`));
    for (const added of occupants) expect(connections.add(added)).toBe(true);
    await nextTurns();
    return occupants;
  }

  /** Adds connections with a valid token, which wait for their next requests. */
  async function known(connections: Connections, principal: string, count: number): Promise<Occupant[]> {
    const occupants = await waiting(connections, principal, count);
    for (const added of occupants) connections.setPrincipal(added, principal);
    return occupants;
  }

  it('replace the stranger that has waited the longest', async () => {
    const connections = new Connections(3, 1_000);
    const [first] = await waiting(connections, 'stranger', 3);
    if (first !== undefined) {
      connections.setInUse(first);
      connections.setWaiting(first);
    }

    expect(connections.add(occupant('new'))).toBe(true);
    expect(closed).toEqual(['stranger 1']);
  });

  it('do not replace one that the server may not have read from', async () => {
    const connections = new Connections(2, 1_000);
    connections.add(occupant('first'));
    connections.add(occupant('second'));

    expect(connections.add(occupant('third'))).toBe(false);
    await nextTurns();
    expect(connections.add(occupant('fourth'))).toBe(true);
    expect(closed).toEqual(['first']);
  });

  it('do not replace one that is in use', async () => {
    const connections = new Connections(2, 1_000);
    for (const busy of await waiting(connections, 'stranger', 2)) connections.setInUse(busy);

    expect(connections.add(occupant('new'))).toBe(false);
    expect(closed).toEqual([]);
  });

  it('replace strangers before those with a valid token', async () => {
    const connections = new Connections(3, 1_000);
    await known(connections, 'alice', 2);
    await waiting(connections, 'stranger', 1);
    connections.add(occupant('new'));

    expect(closed).toEqual(['stranger 0']);
  });

  it('replace one of the principal that has the most', async () => {
    const connections = new Connections(10, 1_000);
    await known(connections, 'alice', 2);
    await known(connections, 'bob', 8);
    connections.add(occupant('new'));

    expect(closed).toEqual(['bob 0']);
  });

  it('replace none of a principal that has less than an equal part', async () => {
    const connections = new Connections(10, 1_000);
    await known(connections, 'alice', 3);
    for (const busy of await known(connections, 'bob', 7)) connections.setInUse(busy);

    expect(connections.add(occupant('new'))).toBe(false);
    expect(closed).toEqual([]);
  });

  it('count for the principal whose token came last', async () => {
    const connections = new Connections(10, 1_000);
    const alices = await known(connections, 'alice', 6);
    const bobs = await known(connections, 'bob', 4);
    for (const moved of alices.slice(0, 4)) connections.setPrincipal(moved, 'bob');
    for (const gone of bobs.slice(0, 1)) connections.remove(gone);
    for (const busy of await waiting(connections, 'stranger', 1)) connections.setInUse(busy);
    connections.add(occupant('new'));

    expect(closed).toEqual(['bob 1']);
  });

  it('close those that have held memory the longest when all hold too much', async () => {
    const connections = new Connections(10, 1_000);
    const [first, second, third] = await waiting(connections, 'stranger', 3);
    if (first === undefined || second === undefined || third === undefined) throw new Error();
    connections.setHeld(first, 400);
    connections.setHeld(second, 400);
    connections.setHeld(third, 300);
    expect(closed).toEqual(['stranger 0']);

    connections.setHeld(second, 0);
    connections.setHeld(second, 800);
    expect(closed).toEqual(['stranger 0', 'stranger 2']);
  });

  it('do not close those that hold less than an equal part', async () => {
    const connections = new Connections(10, 1_000);
    const [small, large, another] = await waiting(connections, 'stranger', 3);
    if (small === undefined || large === undefined || another === undefined) throw new Error();
    connections.setHeld(small, 100);
    connections.setHeld(large, 600);
    connections.setHeld(another, 600);

    expect(closed).toEqual(['stranger 1']);
  });

  it('tell 500 further ones that there is no room, and close the oldest of these', async () => {
    const connections = new Connections(1, 1_000);
    for (const busy of await waiting(connections, 'stranger', 1)) connections.setInUse(busy);
    for (let count = 0; count < 500; count += 1) connections.add(occupant(`refused ${count}`));
    expect(closed).toEqual([]);

    connections.add(occupant('one more'));
    expect(closed).toEqual(['refused 0']);
  });
});
