import { execSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The directories and files that `npm run build` reads. */
const DIRECTORIES = ['contract', 'src'];
const FILES = ['nest-cli.json', 'package-lock.json', 'package.json', 'rolldown.config.js', 'tsconfig.json'];

/** The file with the digest of the inputs of the last build. `nest build` and `nest start` remove it. */
const RECORD = 'dist/chunks/inputs.sha256';

process.chdir(import.meta.dirname);
const digest = digestInputs();
if (!existsSync(RECORD) || readFileSync(RECORD, 'utf8') !== digest) {
  if (process.argv.includes('--check-configuration')) await checkConfiguration();
  build();
}

/** Returns the digest of the names and contents. The times do not show that older sources have replaced newer ones. */
function digestInputs() {
  const hash = createHash('sha256');
  const inside = DIRECTORIES.flatMap((name) => readdirSync(name, { recursive: true }).map((path) => join(name, path)));
  for (const path of [...FILES, ...inside].sort()) {
    // A link may lead nowhere, such as the lock that Emacs keeps beside an edited file.
    if (statSync(path, { throwIfNoEntry: false })?.isFile())
      hash.update(JSON.stringify([path, readFileSync(path, 'utf8')]));
  }
  return hash.digest('hex');
}

/** Refuses a wrong configuration before the build, which takes much longer than to compile src/config alone. */
async function checkConfiguration() {
  const { build } = await import('rolldown');
  const { output } = await build({
    input: 'src/config/configuration.ts',
    platform: 'node',
    // The engines, of which the configuration needs only the URLs.
    external: /\/(?:postgres|sqlite)\/engine\.js$/,
    logLevel: 'silent',
    write: false,
  });
  const { loadConfiguration } = await import(`data:text/javascript,${encodeURIComponent(output[0].code)}`);
  try {
    loadConfiguration();
  } catch (error) {
    if (error.name !== 'OperatorError') throw error;
    console.error(`plant-store: ${error.message}`);
    process.exit(error.status);
  }
}

/** Builds, and shows the output of the build only if it fails. */
function build() {
  console.error('Building dist/ …');
  try {
    execSync('npm run --silent build', { stdio: 'pipe' });
  } catch ({ stdout, stderr, status }) {
    console.error(`${stdout}${stderr}`);
    process.exit(status ?? 1);
  }
  // Of the inputs before the build, because a file may change during it.
  writeFileSync(RECORD, digest);
}
