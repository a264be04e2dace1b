import { execSync } from 'node:child_process';
import { existsSync } from 'node:fs';

// Builds the clone for `npm ci`. npm 10 also prepares the clone for each `npx plant-store`: a build would replace the files
// of a running service.
if (process.env.npm_command !== 'exec') build();

function build() {
  if (existsSync('node_modules/@nestjs/cli')) {
    execSync('npm run build', { stdio: 'inherit' });
    return;
  }
  // The shell would only say that it does not find `nest`.
  console.error(
    'plant-store: a build needs the development packages: run npm ci --include=dev. ' +
      'In production, use the npm package or the image, see docs/deploying.md.',
  );
  process.exitCode = 1;
}
