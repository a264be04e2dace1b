import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRepository } from '../../src/storage/engines.js';
import type { StoredPlant } from '../../src/storage/plant-repository.js';
import { TOKEN } from './client.js';
import { MAIN, type Run } from './command.js';
import { type LaunchOptions, NodeProcess, type Variables } from './node-process.js';
import { ServiceProcess } from './service-process.js';
import { openSqliteFile, readPlants, type SqliteFile } from './sqlite-file.js';
import type { Row } from './store.js';

export type { Variables };

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

/** Where a service keeps its plants by default. */
const DATABASE = 'data/plants.db';

/** A temporary directory, and the service processes and databases in it. */
export class ServiceDirectory {
  readonly path = mkdtempSync(join(tmpdir(), 'plant-store-'));
  readonly #processes: NodeProcess[] = [];
  readonly #databases: SqliteFile[] = [];

  /** Returns a directory that is new and empty in each test of the spec file. */
  static ofEachTest(): ServiceDirectory {
    const directory = new ServiceDirectory();
    beforeEach(() => mkdirSync(directory.path, { recursive: true, mode: 0o700 }));
    afterEach(() => directory.remove());
    // Where no test runs, nothing else removes it.
    afterAll(() => rmSync(directory.path, { recursive: true, force: true }));
    return directory;
  }

  /** Starts a process; nothing but these variables is in its environment. */
  launch(variables: Variables = {}, options?: LaunchOptions): ServiceProcess {
    const service = new ServiceProcess(variables, { workingDirectory: this.path, ...options });
    this.#processes.push(service);
    return service;
  }

  /** Starts a service and waits until it listens. */
  async start(variables: Variables = WITH_TOKEN, options?: LaunchOptions): Promise<Started> {
    const service = this.launch(variables, options);
    return { service, url: await service.listening() };
  }

  /** Starts a service with its management listener, and waits until both listen. */
  async startManaged(variables: Variables = {}, options?: LaunchOptions): Promise<Started & { management: string }> {
    const service = this.launch({ ...WITH_TOKEN, MANAGEMENT_PORT: '0', ...variables }, options);
    return { service, url: await service.listening(), management: await service.managementListening() };
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
    // Nest logs the error of a port. Its other lines about a start are not logged.
    expect(service.stdout).toMatch(/^(?:\{"level":"error",.*"context":"NestApplication",.*\}\n)?$/);
    return { status, complaint: service.stderr };
  }

  /** Starts a command in the directory without a terminal. */
  command(name: string, parameters: readonly string[], variables?: Variables, options?: LaunchOptions): NodeProcess {
    const command = new NodeProcess([MAIN, name, ...parameters], variables, {
      workingDirectory: this.path,
      ...options,
    });
    this.#processes.push(command);
    return command;
  }

  /** Runs a command in the directory to its end, with this text on stdin. */
  async run(
    name: string,
    parameters: readonly string[] = [],
    variables?: Variables,
    input = '',
    options?: LaunchOptions,
  ): Promise<Run> {
    const command = this.command(name, parameters, variables, options);
    // The command may end before it has read its input.
    command.child.stdin.on('error', () => undefined).end(input);
    const status = await command.ended;
    return { status, stdout: command.stdout, stderr: command.stderr };
  }

  /** Returns the path of a file in the directory. */
  file(name: string): string {
    return join(this.path, name);
  }

  /** Writes a file with exactly this mode, and returns its path. */
  write(name: string, content: string | Buffer, mode = 0o600): string {
    const file = this.file(name);
    writeFileSync(file, content);
    // writeFileSync would subtract the umask.
    chmodSync(file, mode);
    return file;
  }

  /** Opens or creates a database; it is closed with the directory, or before. */
  openDatabase(file = DATABASE): SqliteFile {
    const database = openSqliteFile(this.file(file));
    this.#databases.push(database);
    return database;
  }

  /** Stores plants as a service does. */
  async store(plants: readonly StoredPlant[], file = DATABASE): Promise<void> {
    const repository = await openRepository(`sqlite:${this.file(file)}`);
    await repository.add(plants);
    await repository.close();
  }

  /** Inserts many plants, with ids from 1,007 on: a third without a tag, a third with special characters. */
  fill(count: number, file = DATABASE): void {
    const database = this.openDatabase(file);
    database.exec(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
       INSERT INTO plants (id, name, tag) SELECT 1000 + 7 * i, 'plant ' || i, CASE i % 3 WHEN 0 THEN 'a, "b"' WHEN 1 THEN 'indoor' END FROM n`,
    );
    database.close();
  }

  /** Returns the stored plants in the order of their ids, read without the service. */
  rows(file = DATABASE): Row[] {
    return readPlants(this.file(file));
  }

  /** Returns the names of the stored plants in the order of their ids. */
  names(file = DATABASE): string[] {
    return this.rows(file).map(({ name }) => name);
  }

  /** Kills the processes, closes the databases and removes the directory. */
  async remove(): Promise<void> {
    await Promise.all(this.#processes.splice(0).map((service) => service.stop('SIGKILL')));
    for (const database of this.#databases.splice(0)) database.close();
    rmSync(this.path, { recursive: true });
  }
}
