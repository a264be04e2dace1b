import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';

/** The directories of the versions of a package; the copy at the top, which the repository itself uses, is the first. */
type Versions = Map<string, string>;

/**
 * Creates a registry for npm with the packages of a `node_modules` directory: `npm install` then resolves and installs
 * as it does from the public registry, without the internet. It answers `/<name>` with the versions of a package, and
 * `/<name>/<version>` with its tarball.
 */
export function createRegistry(modules: string): Server {
  const packages = new Map<string, Versions>();
  collect(modules, packages);
  return createServer(({ url = '', headers: { host = '' } }, response) => {
    const [name = '', version] = url.slice(1).split('/').map(decodeURIComponent);
    const versions = packages.get(name);
    const directory = versions?.get(version ?? '');
    if (directory !== undefined) {
      // npm does not extract links.
      const options = ['--hard-dereference', '--exclude=./node_modules', '--transform=s,^\\.,package,'];
      spawn('tar', ['-c', ...options, '-C', directory, '.']).stdout.pipe(response);
    } else if (versions !== undefined && version === undefined) {
      response.end(JSON.stringify(describePackage(name, versions, `http://${host}`)));
    } else {
      response.writeHead(404).end('{}');
    }
  });
}

function collect(modules: string, packages: Map<string, Versions>): void {
  for (const entry of readdirSync(modules)) {
    const path = join(modules, entry);
    if (entry.startsWith('@')) collect(path, packages);
    if (!existsSync(join(path, 'package.json'))) continue;
    const { name, version } = readManifest(path);
    const versions = packages.get(name) ?? new Map<string, string>();
    packages.set(name, versions.set(version, path));
    if (existsSync(join(path, 'node_modules'))) collect(join(path, 'node_modules'), packages);
  }
}

function describePackage(name: string, versions: Versions, registry: string): object {
  const described = Array.from(versions, ([version, directory]) => {
    const tarball = `${registry}/${encodeURIComponent(name)}/${version}`;
    return [version, { ...readManifest(directory), dist: { tarball } }] as const;
  });
  return { name, 'dist-tags': { latest: described[0]?.[0] }, versions: Object.fromEntries(described) };
}

function readManifest(directory: string): { readonly name: string; readonly version: string } {
  return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as { name: string; version: string };
}
