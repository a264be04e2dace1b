import { readFileSync } from 'node:fs';
import { MAIN, V8_FLAGS } from './command.js';
import { childrenOf, type LaunchOptions, NodeProcess, type Variables } from './node-process.js';
import { reservePort } from './ports.js';
import { WORKERS } from './workers.js';

const LISTENING = /"message":"Listening: POST (\S+)\/plants"/;
const MANAGEMENT = /"message":"Management: ([^"]+)"/;

/** The service as a process. */
export class ServiceProcess extends NodeProcess {
  constructor(variables: Variables, options?: LaunchOptions) {
    const workers = variables.WORKERS ?? `${WORKERS}`;
    // Several workers cannot listen on a port that the system chooses.
    const reserved = workers === '1' ? undefined : reservePort();
    const port = `${reserved?.port ?? 0}`;
    super([...V8_FLAGS, MAIN], { PORT: port, MANAGEMENT_PORT: 'off', WORKERS: workers, ...variables }, options);
    this.child.once('close', () => reserved?.free());
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
    return this.child.pid;
  }

  /** Returns the process ids of the workers. */
  workers(): number[] {
    return childrenOf(this.pid ?? 0);
  }

  /** Returns the peak resident set of the largest process in bytes. */
  peakResident(): number {
    const peaks = [this.pid, ...this.workers()].map((pid) => {
      const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
      return Number(kilobytes) * 1_024;
    });
    return Math.max(...peaks);
  }

  get lines(): string[] {
    return this.stdout.split('\n').slice(0, -1);
  }

  /** Stops reading the log, until `releaseOutput`. */
  holdOutput(): void {
    this.child.stdout.pause();
  }

  releaseOutput(): void {
    this.child.stdout.resume();
  }
}

/** Returns the resident set that the management listener at this URL shows, in bytes. */
export async function residentOf(management: string): Promise<number> {
  // A connection that the listener has closed as idle meanwhile would fail.
  const headers = { Connection: 'close' };
  const response = await fetch(`${management}/metrics`, { headers, signal: AbortSignal.timeout(60_000) });
  return Number(/^process_resident_memory_bytes (\S+)$/m.exec(await response.text())?.[1]);
}
