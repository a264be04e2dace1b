/**
 * Stryker changes these files, one place at a time, and counts the changes that a unit spec notices. In other files, mostly
 * the specs in test/ decide, which take too long for this.
 */
export default {
  mutate: [
    'src/plants/exact-json.ts',
    'src/plants/parse-new-plant.ts',
    'src/plants/dto/*.ts',
    'src/storage/group-commit.ts',
    'src/storage/retry.ts',
    'src/contract/*.ts',
    'src/auth/static-tokens.ts',
    'src/commands/data/*.ts',
    '!src/**/*.spec.ts',
  ],
  testRunner: 'jest',
  testRunnerNodeArgs: ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'],
  jest: { configFile: 'test/mutants/jest.config.js' },
  coverageAnalysis: 'perTest',
  ignorePatterns: ['bench', 'deploy', 'dist', 'docs', 'test/mutants/node_modules'],
  reporters: ['clear-text'],
  disableTypeChecks: false,
};
