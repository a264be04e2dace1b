import { execSync } from 'node:child_process';
import { readdirSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';

/** The files and directories that `npm run build` reads. */
const INPUTS = [
  'contract',
  'nest-cli.json',
  'package-lock.json',
  'package.json',
  'rolldown.config.js',
  'src',
  'tsconfig.json',
];

/** What a build creates last. `nest build` and `nest start` remove it. */
const OUTPUT = 'dist/chunks';

process.chdir(import.meta.dirname);
if (isChanged()) {
  if (process.argv.includes('--check-configuration')) await checkConfiguration();
  build();
}

/** Reports whether a file or directory has changed since the last build. A directory changes with its list of names. */
function isChanged() {
  const built = statSync(OUTPUT, { throwIfNoEntry: false })?.mtimeMs ?? -Infinity;
  const inside = readdirSync('src', { recursive: true }).map((name) => join('src', name));
  return [...INPUTS, ...inside, 'contract/openapi.yaml'].some((path) => statSync(path).mtimeMs > built);
}

/** Refuses a wrong configuration before the build, which takes much longer than to compile src/config alone. */
async function checkConfiguration() {
  const { build } = await import('rolldown');
  const { output } = await build({
    input: 'src/config/configuration.ts',
    platform: 'node',
    logLevel: 'silent',
    write: false,
  });
  const { ConfigurationError, loadConfiguration } = await import(
    `data:text/javascript,${encodeURIComponent(output[0].code)}`
  );
  try {
    loadConfiguration();
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    console.error(`plant-store: ${error.message}`);
    process.exit(2);
  }
}

/** Builds, and shows the output of the build only if it fails. */
function build() {
  const started = new Date();
  console.error('Building dist/ …');
  try {
    execSync('npm run --silent build', { stdio: 'pipe' });
  } catch ({ stdout, stderr, status }) {
    console.error(`${stdout}${stderr}`);
    process.exit(status ?? 1);
  }
  // A file that changes during the build is newer.
  utimesSync(OUTPUT, started, started);
}
