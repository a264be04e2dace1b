import { existsSync } from 'node:fs';

// Without it, the shell would only say that it does not find `nest`.
if (!existsSync('node_modules/@nestjs/cli')) {
  console.error(
    'plant-store: the clone cannot be built without its development packages: run npm ci --include=dev. ' +
      'In production, use the npm package or the image, see docs/deploying.md.',
  );
  process.exitCode = 1;
}
