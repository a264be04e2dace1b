import { type Host, start } from './host.js';

/** Starts the applications that the first argument lists, tells their ports, and stops them when stdin ends. */
async function run(): Promise<void> {
  const hosts = JSON.parse(process.argv[2] ?? '[]') as Host[];
  const started = await Promise.all(hosts.map(start));
  console.log(JSON.stringify(started.map(({ port }) => port)));
  // Nothing of ours may keep the process: it ends by itself.
  process.stdin.on('end', () => void Promise.all(started.map(({ app }) => app.close()))).resume();
}

void run();
