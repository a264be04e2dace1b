import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { inTime } from './until.js';

export type Variables = Readonly<Record<string, string>>;

export interface LaunchOptions {
  readonly workingDirectory?: string | undefined;
  /** A command that runs the one it is given, such as a shell with a limit. */
  readonly wrapper?: readonly string[];
}

/** Returns the ids of the processes that this one has started. */
export function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  } catch {
    // It has ended.
    return [];
  }
}

/** Returns variables that run code of a test in a process, before its own. */
export function importing(code: string): Variables {
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` };
}

/** A process of Node; of this process's environment it gets PATH alone. */
export class NodeProcess {
  stdout = '';
  stderr = '';
  readonly child: ChildProcessWithoutNullStreams;
  readonly #ended: Promise<number | null>;

  constructor(
    parameters: readonly string[],
    variables: Variables = {},
    { workingDirectory, wrapper = [] }: LaunchOptions = {},
  ) {
    const [command, ...rest] = [...wrapper, process.execPath, ...parameters] as [string, ...string[]];
    this.child = spawn(command, rest, { cwd: workingDirectory, env: { PATH: process.env.PATH, ...variables } });
    this.child.stdout.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    this.child.stderr.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.#ended = once(this.child, 'close').then(([status]: (number | null)[]) => status ?? null);
  }

  /** The exit status, or null if a signal ended the process; resolves when both streams are read to their ends. */
  get ended(): Promise<number | null> {
    return inTime(this.#ended, () => `the process has ended, which has printed ${this.#output}`);
  }

  /** Waits until stdout or stderr matches the pattern, and returns the pattern's first group. */
  printed(pattern: RegExp): Promise<string> {
    const printed = new Promise<string>((resolve, reject) => {
      const streams = [this.child.stdout, this.child.stderr];
      const look = (): void => {
        const [, found] = pattern.exec(this.stdout) ?? pattern.exec(this.stderr) ?? [];
        if (found === undefined) return;
        // The output may become long.
        for (const stream of streams) stream.off('data', look);
        resolve(found);
      };
      for (const stream of streams) stream.on('data', look);
      look();
      void this.#ended.then((status) => reject(new Error(`It ended with ${String(status)}: ${this.stderr}`)));
    });
    return inTime(printed, () => `the process prints ${pattern}, which has printed ${this.#output}`);
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Ends the process, and returns its exit status, or null if the signal ended it. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    this.signal(signal);
    return this.ended;
  }

  get #output(): string {
    return JSON.stringify([this.stdout.slice(-2_000), this.stderr.slice(-2_000)]);
  }
}
