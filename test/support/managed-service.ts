import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TOKEN } from './service.js';
import { ServiceProcess } from './service-process.js';

/** What the management listener answers. */
export interface Page {
  readonly status: number;
  readonly type: string | null;
  readonly text: string;
}

/** The service as a process of its own, with its management listener, in a directory of its own. */
export class ManagedService {
  private constructor(
    readonly directory: string,
    readonly process: ServiceProcess,
    /** {base_url}. */
    readonly url: string,
    /** Of the management listener. */
    readonly management: string,
  ) {}

  static async start(variables: Readonly<Record<string, string>> = {}): Promise<ManagedService> {
    const directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
    const service = new ServiceProcess(directory, { ACCESS_TOKENS: TOKEN, MANAGEMENT_PORT: '0', ...variables });
    const management = await service.printed(/"message":"Management: ([^"]+)"/);
    return new ManagedService(directory, service, await service.listening(), management);
  }

  async get(path: string): Promise<Page> {
    const response = await fetch(`${this.management}${path}`);
    return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
  }

  /** Answers what the public port answers. */
  create(plant: object, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return fetch(`${this.url}/plants`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(plant),
    });
  }

  /** Ends it, and what it has left. */
  async stop(signal?: NodeJS.Signals): Promise<number | null> {
    const status = await this.process.stop(signal);
    rmSync(this.directory, { recursive: true, force: true });
    return status;
  }
}
