import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { NodeProcess, type Variables } from '../node-process.js';
import type { Host } from './host.js';
import { ROOT } from '../root.js';

/** The example of a host in this repository. */
export const EXAMPLE = join(ROOT, 'examples/host/main.ts');

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional: boolean }>>;
}

/** TypeScript's settings `module` and `moduleResolution`. */
export type ModuleSettings = readonly [
  module: keyof typeof ts.ModuleKind,
  resolution: keyof typeof ts.ModuleResolutionKind,
];

const NODENEXT: ModuleSettings = ['NodeNext', 'NodeNext'];

/** `commonjs` hosts `require` the package, which is an ES module. */
export type ModuleSystem = 'module' | 'commonjs';

/** Types of the packages of the repository, by their paths and module systems. */
const types = new Map<string, ts.SourceFile | undefined>();

/** Parses and binds types of other packages once for all programs, which takes most of the time of a program. */
function hostOf(options: ts.CompilerOptions): ts.CompilerHost {
  const host = ts.createCompilerHost(options);
  const parse = host.getSourceFile.bind(host);
  host.getSourceFile = (path, version, ...more) => {
    if (!path.startsWith(ROOT)) return parse(path, version, ...more);
    const key = `${path} ${typeof version === 'object' ? version.impliedNodeFormat : ''}`;
    if (!types.has(key)) types.set(key, parse(path, version, ...more));
    return types.get(key);
  };
  return host;
}

/** A host in a directory outside the repository, with the installed package. */
export class Installation {
  readonly directory = mkdtempSync(join(tmpdir(), 'plant-store-host-'));
  readonly package = join(this.directory, 'node_modules/plant-store');
  readonly #processes: NodeProcess[] = [];

  constructor(readonly system: ModuleSystem) {
    writeFileSync(join(this.directory, 'package.json'), JSON.stringify({ name: 'host', private: true, type: system }));
  }

  /** The manifest of the package. */
  get manifest(): Manifest {
    return JSON.parse(readFileSync(join(this.package, 'package.json'), 'utf8')) as Manifest;
  }

  /**
   * Extracts the tarball. Its dependencies are links to the packages of the repository, so that no registry is needed;
   * other packages cannot be found.
   *
   * @param own the dependencies of the host
   */
  link(tarball: string, own: readonly string[]): void {
    mkdirSync(this.package, { recursive: true });
    execFileSync('tar', ['-xzf', tarball, '-C', this.package, '--strip-components=1']);
    const { dependencies, peerDependencies, peerDependenciesMeta } = this.manifest;
    const peers = Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name]?.optional !== true);
    for (const name of new Set([...Object.keys(dependencies), ...peers, ...own])) {
      const link = join(this.directory, 'node_modules', name);
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(join(ROOT, 'node_modules', name), link, 'junction');
    }
  }

  /** Starts these applications in one process, and returns it. */
  startHosts(hosts: readonly Host[]): NodeProcess {
    this.compile(join(import.meta.dirname, 'host.ts'), 'host.js');
    return this.start(['host.js', JSON.stringify(hosts)]);
  }

  /** Compiles a source to JavaScript, for the module system of the host. */
  compile(source: string, name: string): void {
    const { outputText } = ts.transpileModule(readFileSync(source, 'utf8'), {
      compilerOptions: {
        target: ts.ScriptTarget.ES2022,
        module: this.system === 'module' ? ts.ModuleKind.ESNext : ts.ModuleKind.CommonJS,
        esModuleInterop: true,
        experimentalDecorators: true,
        emitDecoratorMetadata: true,
      },
    });
    writeFileSync(join(this.directory, name), outputText);
  }

  /**
   * Returns TypeScript's diagnostics of these sources by file name, and of the package's types that they import.
   *
   * @param module the values of `module` and `moduleResolution`
   */
  diagnose(sources: Readonly<Record<string, string>>, [module, resolution] = NODENEXT): string {
    const files = Object.entries(sources).map(([name, source]) => {
      writeFileSync(join(this.directory, name), source);
      return join(this.directory, name);
    });
    const options: ts.CompilerOptions = {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind[module],
      moduleResolution: ts.ModuleResolutionKind[resolution],
      strict: true,
      exactOptionalPropertyTypes: true,
      noImplicitOverride: true,
      noImplicitReturns: true,
      noUncheckedIndexedAccess: true,
      noUnusedLocals: true,
      noUnusedParameters: true,
      noEmit: true,
      experimentalDecorators: true,
      emitDecoratorMetadata: true,
      // The diagnostics of other packages do not matter.
      skipDefaultLibCheck: true,
      types: ['node'],
      typeRoots: [join(ROOT, 'node_modules/@types')],
    };
    const program = ts.createProgram(files, options, hostOf(options));
    const ours = program.getSourceFiles().filter(({ fileName }) => fileName.startsWith(this.directory));
    const ofFiles = ours.flatMap((file) => [
      ...program.getSyntacticDiagnostics(file),
      ...program.getSemanticDiagnostics(file),
    ]);
    return ts.formatDiagnostics([...program.getOptionsDiagnostics(), ...ofFiles], {
      getCanonicalFileName: (name) => name,
      getCurrentDirectory: () => this.directory,
      getNewLine: () => '\n',
    });
  }

  /** Starts Node with these parameters and variables. */
  start(parameters: readonly string[], variables?: Variables): NodeProcess {
    const process = new NodeProcess(parameters, variables, { workingDirectory: this.directory });
    this.#processes.push(process);
    return process;
  }

  /** Kills the processes and removes the directory. */
  async remove(): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.stop('SIGKILL')));
    rmSync(this.directory, { recursive: true });
  }
}

/** The packages that `host.ts` needs beside those of the package. */
export const FRAMEWORKS = ['@nestjs/platform-express', '@nestjs/platform-fastify'];

/** The package as `npm run package` makes it from dist/, and the hosts that it is installed in. */
export class PackedPackage {
  readonly tarball: string;
  readonly #directory = mkdtempSync(join(tmpdir(), 'plant-store-package-'));
  readonly #installations: Installation[] = [];

  constructor() {
    execFileSync(join(ROOT, '.ci/package'), [this.#directory], { stdio: 'ignore' });
    const [filename = ''] = readdirSync(this.#directory);
    this.tarball = join(this.#directory, filename);
  }

  /** Extracts the package, without any other. */
  extract(directory: string): void {
    mkdirSync(directory, { recursive: true });
    execFileSync('tar', ['-xzf', this.tarball, '-C', directory, '--strip-components=1']);
  }

  /** Installs the package in a new host with these dependencies. */
  install(system: ModuleSystem, own: readonly string[] = FRAMEWORKS): Installation {
    const installation = new Installation(system);
    installation.link(this.tarball, own);
    this.#installations.push(installation);
    return installation;
  }

  async remove(): Promise<void> {
    await Promise.all(this.#installations.map((installation) => installation.remove()));
    rmSync(this.#directory, { recursive: true });
  }
}
