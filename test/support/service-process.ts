import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** `npm test` builds it first. */
const MAIN = join(import.meta.dirname, '../../dist/main.js');

const LISTENING = /"message":"Listening: POST (\S+)\/plants"/;

/** The service as its own process, with nothing of this one's environment but the PATH. */
export class ServiceProcess {
  stdout = '';
  stderr = '';
  /** The exit status, null where a signal ended it; resolves when there is nothing left to read. */
  readonly ended: Promise<number | null>;
  readonly #child: ChildProcessWithoutNullStreams;

  /**
   * @param directory its working directory
   * @param variables its environment
   * @param wrapper a command that runs the one it is given, such as a shell with a limit
   * @param main the program, where it is not the one that was built
   */
  constructor(
    directory: string,
    variables: Readonly<Record<string, string>>,
    wrapper: readonly string[] = [],
    main = MAIN,
  ) {
    const [command, ...parameters] = [...wrapper, process.execPath, main];
    this.#child = spawn(command, parameters, {
      cwd: directory,
      env: { PATH: process.env.PATH, PORT: '0', MANAGEMENT_PORT: 'off', ...variables },
    });
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.ended = once(this.#child, 'close').then(([status]: (number | null)[]) => status ?? null);
  }

  /** {base_url}, as soon as the process says where it listens. */
  listening(): Promise<string> {
    return this.printed(LISTENING);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get lines(): string[] {
    return this.stdout.split('\n').slice(0, -1);
  }

  /** The first group of the pattern, as soon as stdout or stderr has it. */
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

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** @returns the exit status, null where the signal ended it */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    this.signal(signal);
    return this.ended;
  }
}
