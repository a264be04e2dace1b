/** Nest 12 is published as ES modules alone, and Jest runs those behind --experimental-vm-modules. */
const project = {
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
          target: 'es2022',
        },
        module: { type: 'es6' },
      },
    ],
  },
};

/** Where the store matters, the same specs run on both engines, and `test/support/store.ts` looks at ENGINE. */
export default {
  projects: [
    {
      ...project,
      displayName: 'sqlite',
      testMatch: ['<rootDir>/src/**/!(postgres-*).spec.ts', '<rootDir>/test/**/*.e2e-spec.ts'],
    },
    {
      ...project,
      displayName: 'postgres',
      testMatch: [
        '<rootDir>/src/storage/{plant-repository,postgres-*}.spec.ts',
        '<rootDir>/test/plants/*.e2e-spec.ts',
        '<rootDir>/test/storage/history.e2e-spec.ts',
        '<rootDir>/test/**/*.postgres-spec.ts',
      ],
      globals: { ENGINE: 'postgres' },
    },
  ],
  // Most of the time is spent in waiting for processes to start.
  maxWorkers: '100%',
  // A guard against what never ends, not a measure: a busy machine is slow.
  testTimeout: 180_000,
};
