import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

interface Manifest {
  readonly name: string;
  readonly version: string;
}

/**
 * A registry for npm on this machine, with the packages of a `node_modules` directory: `npm install` then resolves and
 * installs as it does from the public registry, without the internet.
 */
export class LocalRegistry {
  readonly #server: Server;
  /** Directories by the name and the version of their packages. */
  readonly #packages = new Map<string, Map<string, string>>();

  constructor(modules: string) {
    this.#collect(modules);
    this.#server = createServer((request, response) => this.#answer(request, response));
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this.#url;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  get #url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  #collect(modules: string): void {
    for (const entry of readdirSync(modules)) {
      const path = join(modules, entry);
      if (entry.startsWith('@')) this.#collect(path);
      if (!existsSync(join(path, 'package.json'))) continue;
      const { name, version } = readManifest(path);
      const versions = this.#packages.get(name) ?? new Map<string, string>();
      this.#packages.set(name, versions.set(version, path));
      if (existsSync(join(path, 'node_modules'))) this.#collect(join(path, 'node_modules'));
    }
  }

  /** Answers `/<name>` with the versions of a package, and `/<name>/<version>` with its tarball. */
  #answer({ url = '' }: IncomingMessage, response: ServerResponse): void {
    const [name = '', version] = url.slice(1).split('/').map(decodeURIComponent);
    const versions = this.#packages.get(name);
    const directory = versions?.get(version ?? '');
    if (directory !== undefined) {
      // npm does not extract links.
      const options = ['--hard-dereference', '--exclude=./node_modules', '--transform=s,^\\.,package,'];
      spawn('tar', ['-c', ...options, '-C', directory, '.']).stdout.pipe(response);
    } else if (versions !== undefined && version === undefined) {
      response.end(JSON.stringify(this.#describe(name, versions)));
    } else {
      response.writeHead(404).end('{}');
    }
  }

  #describe(name: string, versions: ReadonlyMap<string, string>): object {
    const described = Array.from(versions, ([version, directory]) => {
      const tarball = `${this.#url}/${encodeURIComponent(name)}/${version}`;
      return [version, { ...readManifest(directory), dist: { tarball } }] as const;
    });
    // The copy at the top, which is the first one, is what the repository itself uses.
    return { name, 'dist-tags': { latest: described[0]?.[0] }, versions: Object.fromEntries(described) };
  }
}

function readManifest(directory: string): Manifest {
  return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as Manifest;
}
