import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, readFileSync } from 'node:fs';
import { connect as connectPlainly } from 'node:net';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { occupyPort } from './ports.js';
import type { ServiceDirectory } from './service-directory.js';

const ROOT = join(import.meta.dirname, '../..');
const CERTIFICATES = join(import.meta.dirname, 'certificates');

/** Replacements of texts in a configuration file, each of which must be there. */
export type Edits = Readonly<Record<string, string>>;

/** Starts a proxy with its file of deploy/ in front of the service at a port. */
export type StartProxy = (directory: ServiceDirectory, servicePort: number, edits?: Edits) => Promise<Proxy>;

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** A proxy that runs with a file of deploy/. */
export class Proxy {
  private constructor(
    private readonly child: ChildProcess,
    private readonly port: number,
  ) {}

  static nginx: StartProxy = async (directory, servicePort, edits = {}) => {
    const port = await freePort();
    install(directory);
    directory.write(
      'plant-store.conf',
      edited('deploy/nginx.conf', {
        'listen 443 ': `listen 127.0.0.1:${port} `,
        '127.0.0.1:3000': `127.0.0.1:${servicePort}`,
        '/etc/nginx/plant-store': directory.file('plant-store'),
        ...edits,
      }),
    );
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${name};`);
    directory.write(
      'nginx.conf',
      `daemon off; pid nginx.pid; error_log stderr notice;
      events {}
      http { access_log off; ${paths.join(' ')} include plant-store.conf; }`,
    );
    const child = spawn('nginx', ['-p', directory.path, '-e', 'stderr', '-c', 'nginx.conf'], { stdio: STDERR });
    await printed(child, 'start worker process ');
    return new Proxy(child, port);
  };

  static caddy: StartProxy = async (directory, servicePort, edits = {}) => {
    const port = await freePort();
    install(directory);
    const certificate = `tls ${directory.file('plant-store.crt')} ${directory.file('plant-store.key')}`;
    const file = edited('deploy/Caddyfile', {
      auto_https: 'admin off\nauto_https',
      'plants.example {': `https://localhost:${port} {\n${certificate}\n`,
      '127.0.0.1:3000': `127.0.0.1:${servicePort}`,
      '\n:443 {': `\n:${port} {`,
      ...edits,
    });
    directory.write('Caddyfile', file);
    const child = spawn('caddy', ['run', '--config', directory.file('Caddyfile'), '--adapter', 'caddyfile'], {
      stdio: STDERR,
      env: { PATH: process.env.PATH, HOME: directory.path },
    });
    await printed(child, 'serving initial configuration');
    return new Proxy(child, port);
  };

  /** Sends these bytes over TLS, or in clear text, from an address of its own, and returns the answer. */
  async send(bytes: string, { plainly = false } = {}): Promise<Answer> {
    const where = { port: this.port, host: '127.0.0.1', localAddress: '127.0.0.2' };
    const ca = readFileSync(join(CERTIFICATES, 'first.crt'));
    const socket = plainly ? connectPlainly(where) : connect({ ...where, ca, servername: 'localhost' });
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    // The proxy may reset the connection after its answer.
    socket.on('error', () => undefined);
    socket.write(bytes, 'latin1');
    await once(socket, 'close');
    return parse(text);
  }

  async stop(): Promise<void> {
    const ended = once(this.child, 'close');
    this.child.kill();
    await ended;
  }
}

const STDERR: ['ignore', 'ignore', 'pipe'] = ['ignore', 'ignore', 'pipe'];

/** Returns a port that was free a moment ago: the configuration of a proxy cannot ask for any free port. */
async function freePort(): Promise<number> {
  const occupied = await occupyPort();
  occupied.free();
  return occupied.port;
}

function install(directory: ServiceDirectory): void {
  for (const kind of ['crt', 'key']) {
    copyFileSync(join(CERTIFICATES, `first.${kind}`), directory.file(`plant-store.${kind}`));
  }
}

function edited(file: string, edits: Edits): string {
  return Object.entries(edits).reduce(
    (text, [from, to]) => {
      if (!text.includes(from)) throw new Error(`${file} does not have "${from}"`);
      return text.replaceAll(from, to);
    },
    readFileSync(join(ROOT, file), 'utf8'),
  );
}

/** Waits until the process prints this text on stderr. */
function printed(child: ChildProcess, expected: string): Promise<void> {
  let text = '';
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (status) => reject(new Error(`It ended with ${String(status)}: ${text}`)));
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      if (text.includes(expected)) resolve();
    });
  });
}

function parse(text: string): Answer {
  const [head = '', body = ''] = text.split('\r\n\r\n');
  const [statusLine = '', ...lines] = head.split('\r\n');
  const status = /^HTTP\/1\.[01] (\d{3}) /.exec(statusLine)?.[1];
  if (status === undefined) throw new Error(`It answered ${JSON.stringify(text)}`);
  const headers = lines.map((line): [string, string] => {
    const [name = '', value = ''] = line.split(': ');
    return [name.toLowerCase(), value];
  });
  return { status: Number(status), headers: Object.fromEntries(headers), body: JSON.parse(body) as unknown };
}
