import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** The parts of the package; `files` in package.json leaves out some of it. */
const PARTS = ['LICENSE', 'contract', 'dist', 'docs', 'plant-store.js'];

/** Parts of package.json that only a clone needs. */
const ONLY_IN_CLONE = ['allowScripts', 'devDependencies', 'overrides', 'prettier', 'scripts'];

/**
 * Packs the module and the bundled service of dist/ into a directory, by default the working directory. The package has
 * a README of its own, and links of its guides to other files of the repository are absolute.
 */
const target = resolve(process.argv[2] ?? '.');
const staging = mkdtempSync(join(tmpdir(), 'plant-store-pack-'));
try {
  const { homepage } = stage();
  linkToRepository(join(staging, 'docs'), homepage);
  const npm = ['pack', '--ignore-scripts', '--pack-destination', target];
  process.stdout.write(execFileSync('npm', npm, { cwd: staging, stdio: ['ignore', 'pipe', 'pipe'] }));
} finally {
  rmSync(staging, { recursive: true });
}

/** Copies the parts of the package, and returns its manifest. */
function stage() {
  const here = import.meta.dirname;
  for (const part of PARTS) cpSync(join(here, part), join(staging, part), { recursive: true });
  cpSync(join(here, 'README.npm.md'), join(staging, 'README.md'));
  const entries = Object.entries(JSON.parse(readFileSync(join(here, 'package.json'), 'utf8')));
  const manifest = Object.fromEntries(entries.filter(([name]) => !ONLY_IN_CLONE.includes(name)));
  writeFileSync(join(staging, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  return manifest;
}

function linkToRepository(directory, homepage) {
  for (const name of readdirSync(directory).filter((file) => file.endsWith('.md'))) {
    const file = join(directory, name);
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll('](../', `](${homepage}/blob/main/`));
  }
}
