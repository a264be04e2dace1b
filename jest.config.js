import { availableParallelism } from 'node:os';

/** Nest 12 is published only as ES modules, which Jest runs with --experimental-vm-modules. */
const project = {
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': '$1',
    // Each spec file loads them anew: two files instead of 200.
    '^(class-transformer|class-validator)$': '<rootDir>/node_modules/$1/bundles/$1.umd.min.js',
  },
  transform: { '\\.ts$': '<rootDir>/test/support/typescript-transform.js' },
};

/** Specs that depend on the store run on both engines; `test/support/store.ts` reads ENGINE. */
export default {
  projects: [
    {
      ...project,
      displayName: 'sqlite',
      testMatch: ['<rootDir>/src/**/*.spec.ts', '<rootDir>/test/**/*.e2e-spec.ts'],
    },
    {
      ...project,
      displayName: 'postgres',
      testMatch: [
        '<rootDir>/src/storage/plant-repository.spec.ts',
        '<rootDir>/test/plants.e2e-spec.ts',
        '<rootDir>/test/plants/{every-member,new-plant.property}.e2e-spec.ts',
        '<rootDir>/test/storage/crash.e2e-spec.ts',
        // Its short form runs on SQLite alone.
        ...(process.env.SOAK_MINUTES === undefined ? [] : ['<rootDir>/test/http/soak.e2e-spec.ts']),
        '<rootDir>/test/**/*.postgres-spec.ts',
      ],
      globals: { ENGINE: 'postgres' },
      globalSetup: '<rootDir>/test/support/postgres-setup.js',
      globalTeardown: '<rootDir>/test/support/postgres-teardown.js',
      setupFilesAfterEnv: ['<rootDir>/test/support/postgres-hooks.ts'],
    },
  ],
  // Half of the time, a test waits: for a disk, a process, or a time limit of the service.
  maxWorkers: Math.max(4, availableParallelism()),
  testSequencer: './test/support/sequencer.js',
  // Only a test that hangs takes this long, even on a busy machine.
  testTimeout: 180_000,
  // On a busy machine, a worker takes longer to end than Jest's 500 ms.
  workerGracefulExitTimeout: 10_000,
};
