import { MAIN } from './command.js';
import { childrenOf, type LaunchOptions, NodeProcess, type Variables } from './node-process.js';

const LISTENING = /"message":"Listening: POST (\S+)\/plants"/;
const MANAGEMENT = /"message":"Management: ([^"]+)"/;

/** The service as a process. */
export class ServiceProcess extends NodeProcess {
  constructor(variables: Variables, options?: LaunchOptions) {
    super([MAIN], { PORT: '0', MANAGEMENT_PORT: 'off', ...variables }, options);
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

  /** Returns the ids of the processes that it has started, such as the service behind a wrapper. */
  children(): number[] {
    return childrenOf(this.pid ?? 0);
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
