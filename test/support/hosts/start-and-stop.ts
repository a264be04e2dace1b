import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { type Host, start } from './host.js';

/** Returns the size of the heap after garbage collection. */
async function heap(): Promise<number> {
  for (let round = 0; round < 5; round += 1) {
    await new Promise(setImmediate);
    globalThis.gc?.();
  }
  return process.memoryUsage().heapUsed;
}

/** Starts and stops each application this many times, creates a plant each time, and prints what remains. */
async function run(): Promise<void> {
  const [hosts, times] = JSON.parse(process.argv[2] ?? '[]') as [Host[], number];
  const cycle = async (count: number): Promise<void> => {
    for (const host of Array.from({ length: count }, () => hosts).flat()) {
      const { app, port } = await start(host);
      const outgoing = request({
        port,
        method: 'POST',
        path: '/plants',
        agent: false,
        headers: { authorization: `Bearer ${host.token ?? ''}`, 'content-type': 'application/json' },
      }).end('{"id":1,"name":"Monstera"}');
      const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
      if (answer.statusCode !== 200) throw new Error(await text(answer));
      await text(answer);
      await app.close();
    }
  };
  // The first half fills caches.
  await cycle(times / 2);
  const before = { heap: await heap(), handles: process.getActiveResourcesInfo().length, listeners: listeners() };
  await cycle(times / 2);
  const after = { heap: await heap(), handles: process.getActiveResourcesInfo().length, listeners: listeners() };
  console.log(JSON.stringify({ before, after }));
}

function listeners(): number {
  return process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);
}

void run();
