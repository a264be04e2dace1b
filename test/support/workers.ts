import { suspend } from './node-process.js';
import type { ServiceProcess } from './service-process.js';
import { until } from './until.js';

/** With how many workers services start: in the project `workers` of jest.config.js, more than one. */
export const WORKERS = Number(Reflect.get(globalThis, 'WORKERS') ?? 1);

/** Code that stops its process without a turn of the event loop, as long as there is a file `hold`. */
export const HOLD = "while (existsSync('hold')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);";

/** Returns variables that run code of a test in each worker, before the service. */
export function inWorkers(code: string): Readonly<Record<string, string>> {
  const imports = "import cluster from 'node:cluster'; import { existsSync } from 'node:fs';";
  return importing(`${imports} if (cluster.isWorker) { ${code} }`);
}

/** Returns variables that let the service see so many cores. */
export function onCores(count: number): Readonly<Record<string, string>> {
  return importing(
    "import os from 'node:os'; import { syncBuiltinESMExports } from 'node:module';" +
      `os.availableParallelism = () => ${count}; syncBuiltinESMExports();`,
  );
}

/** Variables with which the service does not see that a file changes, as on some network file systems. */
export const UNWATCHED = importing(
  "import fs from 'node:fs'; import { syncBuiltinESMExports } from 'node:module';" +
    'fs.watchFile = () => undefined; syncBuiltinESMExports();',
);

/** Returns variables that run code of a test in a process, before its own. */
export function importing(code: string): Readonly<Record<string, string>> {
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` };
}

/** Kills workers, and waits until the service has noticed it. */
export async function killWorkers(service: ServiceProcess, workers: readonly number[]): Promise<void> {
  for (const pid of workers) process.kill(pid, 'SIGKILL');
  await until('the workers have ended', () => !service.workers().some((pid) => workers.includes(pid)));
}

/** Calls once for each worker while all others are stopped, so that it alone accepts connections. */
export async function withEachWorker<Result>(service: ServiceProcess, call: () => Promise<Result>): Promise<Result[]> {
  const workers = service.workers();
  const results: Result[] = [];
  for (const worker of workers) {
    const others = workers.filter((other) => other !== worker);
    for (const other of others) suspend(other);
    try {
      results.push(await call());
    } finally {
      for (const other of others) process.kill(other, 'SIGCONT');
    }
  }
  return results;
}
