import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';

/** Packages of which the repository has another version than their users ask for, see CONTRIBUTING.md. */
const OVERRIDDEN = ['content-disposition', 'cookie', 'file-type'];

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** Files that no host loads: without them, npm writes half as many. Packages inside of packages are packages of their own. */
const LEFT_OUT = ['./node_modules', '*.c', '*.map', '*.ts'];

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
      const options = ['--hard-dereference', '--transform=s,^\\.,package,'];
      for (const pattern of LEFT_OUT) options.push(`--exclude=${pattern}`);
      // npx takes from npm's cache what the host has.
      response.setHeader('Cache-Control', 'max-age=3600');
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
    return [version, { ...withOwnVersions(readManifest(directory)), dist: { tarball } }] as const;
  });
  return { name, 'dist-tags': { latest: described[0]?.[0] }, versions: Object.fromEntries(described) };
}

/** Takes any version of what the repository overrides: npx, unlike an application, has no overrides. */
function withOwnVersions(manifest: Manifest): Manifest {
  const { dependencies = {} } = manifest;
  const own = Object.keys(dependencies).filter((name) => OVERRIDDEN.includes(name));
  return { ...manifest, dependencies: { ...dependencies, ...Object.fromEntries(own.map((name) => [name, '*'])) } };
}

function readManifest(directory: string): Manifest {
  return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as Manifest;
}
