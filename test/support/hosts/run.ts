import { type Host, start } from './host.js';

/** Starts the applications in the first argument, prints their ports, and stops them at the end of stdin. */
async function run(): Promise<void> {
  const hosts = JSON.parse(process.argv[2] ?? '[]') as Host[];
  const started = await Promise.all(hosts.map(start));
  console.log(JSON.stringify(started.map(({ port }) => port)));
  // The process must end by itself: PlantsModule may not keep it alive.
  process.stdin.on('end', () => void Promise.all(started.map(({ app }) => app.close()))).resume();
}

void run();
