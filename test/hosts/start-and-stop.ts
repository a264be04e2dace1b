import { type Host, start } from './host.js';

/** Bytes on the heap when all garbage is gone. */
async function heap(): Promise<number> {
  for (let round = 0; round < 5; round += 1) {
    await new Promise(setImmediate);
    globalThis.gc?.();
  }
  return process.memoryUsage().heapUsed;
}

/** Starts and stops an application again and again, with a plant in between, and tells what is left of it. */
async function run(): Promise<void> {
  const [host, times] = JSON.parse(process.argv[2] ?? '[]') as [Host, number];
  const cycle = async (count: number): Promise<void> => {
    for (let done = 0; done < count; done += 1) {
      const { app, port } = await start(host);
      const answer = await fetch(`http://127.0.0.1:${port}/plants`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${host.token ?? ''}`,
          'content-type': 'application/json',
          connection: 'close',
        },
        body: '{"id":1,"name":"Monstera"}',
      });
      if (answer.status !== 200) throw new Error(await answer.text());
      await answer.text();
      await app.close();
    }
  };
  // Caches fill with the first ones.
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
