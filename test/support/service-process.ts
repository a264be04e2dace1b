import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { MAIN } from './command.js';
import { WORKERS } from './workers.js';

const LISTENING = /"message":"Listening: POST (\S+)\/plants"/;
const MANAGEMENT = /"message":"Management: ([^"]+)"/;

export type Variables = Readonly<Record<string, string>>;

export interface LaunchOptions {
  readonly workingDirectory?: string;
  /** A command that runs the one it is given, such as a shell with a limit. */
  readonly wrapper?: readonly string[];
}

/** The service as a process; of this process's environment it gets PATH alone. */
export class ServiceProcess {
  stdout = '';
  stderr = '';
  /** The exit status, or null if a signal ended the process; resolves when both streams are read to their ends. */
  readonly ended: Promise<number | null>;
  readonly #child: ChildProcessWithoutNullStreams;

  constructor(variables: Variables, { workingDirectory, wrapper = [] }: LaunchOptions) {
    const [command, ...parameters] = [...wrapper, process.execPath, MAIN];
    this.#child = spawn(command, parameters, {
      cwd: workingDirectory,
      env: { PATH: process.env.PATH, PORT: '0', MANAGEMENT_PORT: 'off', WORKERS: `${WORKERS}`, ...variables },
    });
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.ended = once(this.#child, 'close').then(([status]: (number | null)[]) => status ?? null);
  }

  /** Waits until the service listens, and returns {base_url}. */
  listening(): Promise<string> {
    return this.printed(LISTENING);
  }

  /** Waits until the management listener listens, and returns its URL. */
  managementListening(): Promise<string> {
    return this.printed(MANAGEMENT);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Returns the process ids of the workers. */
  workers(): number[] {
    const { stdout } = spawnSync('pgrep', ['-P', `${this.pid}`], { encoding: 'utf8' });
    return stdout.split('\n').slice(0, -1).map(Number);
  }

  /** Returns the peak resident set of the largest process in bytes; undefined on systems other than Linux. */
  peakResident(): number | undefined {
    if (process.platform !== 'linux') return undefined;
    const peaks = [this.pid, ...this.workers()].map((pid) => {
      const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
      return Number(kilobytes) * 1_024;
    });
    return Math.max(...peaks);
  }

  get lines(): string[] {
    return this.stdout.split('\n').slice(0, -1);
  }

  /** Waits until stdout or stderr matches the pattern, and returns the pattern's first group. */
  printed(pattern: RegExp): Promise<string> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const [, found] = pattern.exec(this.stdout) ?? pattern.exec(this.stderr) ?? [];
        if (found !== undefined) resolve(found);
      };
      look();
      this.#child.stdout.on('data', look);
      this.#child.stderr.on('data', look);
      void this.ended.then((status) => reject(new Error(`It ended with ${String(status)}: ${this.stderr}`)));
    });
  }

  /** Stops reading the log, until `releaseOutput`. */
  holdOutput(): void {
    this.#child.stdout.pause();
  }

  releaseOutput(): void {
    this.#child.stdout.resume();
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Ends the process, and returns its exit status, or null if the signal ended it. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    this.signal(signal);
    return this.ended;
  }
}

/** Returns the resident set that the management listener at this URL shows, in bytes. */
export async function residentOf(management: string): Promise<number> {
  const response = await fetch(`${management}/metrics`, { signal: AbortSignal.timeout(60_000) });
  return Number(/^process_resident_memory_bytes (\S+)$/m.exec(await response.text())?.[1]);
}
