import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TOKEN } from './service.js';
import { ServiceProcess } from './service-process.js';
import { openSqliteFile } from './sqlite-file.js';

export type Variables = Readonly<Record<string, string>>;

/** The environment of a service in whose spec authentication does not matter. */
export const WITH_TOKEN: Variables = { ACCESS_TOKENS: TOKEN };

/** Matches the command that a first start prints. */
export const CURL = /^(curl -i [^]+?)\n\n/m;

/** A service that listens. */
export interface Started {
  readonly service: ServiceProcess;
  /** {base_url}. */
  readonly url: string;
}

/** A temporary directory, and the service processes that run in it. */
export class ServiceDirectory {
  readonly path = mkdtempSync(join(tmpdir(), 'plant-store-'));
  readonly #processes: ServiceProcess[] = [];

  /** Starts a process; nothing but these variables is in its environment. */
  launch(variables: Variables = {}, workingDirectory = this.path, wrapper: readonly string[] = []): ServiceProcess {
    const service = new ServiceProcess(workingDirectory, variables, wrapper);
    this.#processes.push(service);
    return service;
  }

  /** Starts a service and waits until it listens. */
  async start(variables: Variables = WITH_TOKEN, workingDirectory?: string): Promise<Started> {
    const service = this.launch(variables, workingDirectory);
    return { service, url: await service.listening() };
  }

  /** Starts a service without configured tokens, and returns the token that it prints on stderr. */
  async firstStart(variables?: Variables): Promise<Started & { readonly token: string }> {
    const service = this.launch(variables);
    const curl = await service.printed(CURL);
    const [, url = '', token = ''] = /^curl -i (\S+)\/plants[^]+Bearer ([\w-]+)'/.exec(curl) ?? [];
    return { service, token, url };
  }

  /** Starts a service that must fail, and returns its exit status and what it printed on stderr. */
  async failedStart(variables?: Variables): Promise<{ status: number | null; complaint: string }> {
    const service = this.launch(variables);
    const status = await service.ended;
    expect(service.stdout).toBe('');
    return { status, complaint: service.stderr };
  }

  /** Returns the path of a file in the directory. */
  file(name: string): string {
    return join(this.path, name);
  }

  /** Writes a file with exactly this mode, and returns its path. */
  write(name: string, text: string, mode = 0o600): string {
    const file = this.file(name);
    writeFileSync(file, text);
    // writeFileSync would subtract the umask.
    chmodSync(file, mode);
    return file;
  }

  /** Returns the names of the stored plants in the order of their ids, read without the service. */
  names(file = 'data/plants.db'): string[] {
    const database = openSqliteFile(this.file(file));
    try {
      return database.all<{ name: string }>('SELECT name FROM plants ORDER BY id').map(({ name }) => name);
    } finally {
      database.close();
    }
  }

  /** Kills the processes and removes the directory. */
  async remove(): Promise<void> {
    await Promise.all(this.#processes.map((service) => service.stop('SIGKILL')));
    rmSync(this.path, { recursive: true });
  }
}
